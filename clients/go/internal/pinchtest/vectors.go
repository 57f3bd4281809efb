package pinchtest

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
	"google.golang.org/protobuf/encoding/protojson"
)

// Vector is one body, the limits of the call and what must come out.
type Vector struct {
	Name   string
	Format pinchv1.Format
	Body   []byte
	Limits *pinchv1.Limits
	Expect Expectation
}

var formats = map[string]pinchv1.Format{
	"openai-chat":      pinchv1.Format_FORMAT_OPENAI_CHAT,
	"anthropic":        pinchv1.Format_FORMAT_ANTHROPIC_MESSAGES,
	"openai-responses": pinchv1.Format_FORMAT_OPENAI_RESPONSES,
	"gemini":           pinchv1.Format_FORMAT_GEMINI,
	"bedrock":          pinchv1.Format_FORMAT_BEDROCK_CONVERSE,
}

// written is the file of a vector, or of a case, whose body lies beside it.
type written struct {
	Name        string                     `json:"name"`
	ID          string                     `json:"id"`
	Format      string                     `json:"format"`
	Input       *string                    `json:"input"`
	InputBase64 []byte                     `json:"input_base64"`
	Limits      map[string]json.RawMessage `json:"limits"`
	Expect      Expectation                `json:"expect"`
}

// Vectors are the project's own.
func Vectors(t testing.TB) []Vector {
	t.Helper()
	folder := filepath.Join(Root(t), "tests", "vectors")
	return found(t, folder, func(path string) bool {
		return filepath.Ext(path) == ".json" && filepath.Base(path) != "schema.json"
	})
}

// Cases are the reported faults, which lie beside the project; a skip when they do not.
func Cases(t testing.TB) []Vector {
	t.Helper()
	folder := filepath.Join(filepath.Dir(Root(t)), "shared", "cases")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("the folder shared/cases does not lie beside the project")
	}
	return found(t, folder, func(path string) bool { return filepath.Base(path) == "case.json" })
}

func found(t testing.TB, folder string, wanted func(string) bool) []Vector {
	t.Helper()
	var vectors []Vector
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && wanted(path) {
			vectors = append(vectors, read(t, path))
		}
		return err
	})
	if err != nil || len(vectors) == 0 {
		t.Fatalf("no vectors in %s: %v", folder, err)
	}
	return vectors
}

func read(t testing.TB, path string) Vector {
	t.Helper()
	var said written
	decode(t, contents(t, path), &said)
	vector := Vector{Name: said.Name + said.ID, Format: formats[said.Format], Limits: limits(t, said), Expect: said.Expect}
	switch {
	case said.Name == "":
		vector.Body = contents(t, filepath.Join(filepath.Dir(path), "body.json"))
	case said.Input != nil:
		vector.Body = []byte(*said.Input)
	default:
		vector.Body = said.InputBase64
	}
	if vector.Format == pinchv1.Format_FORMAT_UNSPECIFIED {
		t.Fatalf("%s: the format %q is not known", path, said.Format)
	}
	return vector
}

// limits reads limits by their wire names, which protobuf's own JSON has too, but for lists and enums.
func limits(t testing.TB, said written) *pinchv1.Limits {
	t.Helper()
	if globs, has := said.Limits["protected_tools"]; has {
		said.Limits["protected_tools"] = json.RawMessage(`{"globs":` + string(globs) + `}`)
	}
	for name, prefix := range map[string]string{"stability": "STABILITY_", "trim_style": "TRIM_STYLE_"} {
		var word string
		if value, has := said.Limits[name]; has {
			decode(t, value, &word)
			said.Limits[name] = json.RawMessage(`"` + prefix + strings.ToUpper(word) + `"`)
		}
	}
	text, err := json.Marshal(said.Limits)
	if err != nil {
		t.Fatal(err)
	}
	var read pinchv1.Limits
	if err := protojson.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return &read
}

func contents(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func decode(t testing.TB, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}
