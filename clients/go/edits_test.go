package pinch_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/internal/pinchtest"
	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
	"google.golang.org/protobuf/proto"
)

// Every byte outside the edits is the same, numbers and spaces too; the account comes with it.
func TestC6BytesOutsideTheEditsStay(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Trim(before, after))
	result, err := prune(t, connect(t, server.Address, pinch.WithStrict()))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(sent, before, after, 1); string(result.Body) != want {
		t.Errorf("%s, not %s", result.Body, want)
	}
	if !result.Pruned || result.Reason != "" || result.Err != nil {
		t.Errorf("%+v", result)
	}
	reply := result.Reply
	if reply.GetStats().GetTokensSaved() != 40 || reply.GetFirstChangedMessage() != 2 || !reply.GetPersisted() ||
		reply.GetTurnFrame().GetMessage() != "hello" || len(reply.GetEdits()) != 1 {
		t.Errorf("%v", reply)
	}
}

// Edits that do not fit are refused, and none of the reply is used, not even its right edits.
func TestC6HostileEditsAreRefused(t *testing.T) {
	edit := func(changes ...func(*pinchv1.Edit)) *pinchv1.Edit {
		made := pinchtest.ByteEdit([]byte(sent), before, after)
		for _, change := range changes {
			change(made)
		}
		return made
	}
	another := pinchtest.ByteEdit([]byte(sent), `"another"`, `"x"`)
	empty := sha256.Sum256(nil)
	for name, edits := range map[string][]*pinchv1.Edit{
		"wrong hash":      {edit(func(e *pinchv1.Edit) { e.ReplacedSha256 = make([]byte, 32) })},
		"short hash":      {edit(func(e *pinchv1.Edit) { e.ReplacedSha256 = e.ReplacedSha256[:31] })},
		"no hash":         {edit(func(e *pinchv1.Edit) { e.ReplacedSha256 = nil })},
		"negative offset": {edit(func(e *pinchv1.Edit) { e.Offset = -1 })},
		"negative length": {edit(func(e *pinchv1.Edit) { e.Length = -1 })},
		"replaces nothing": {edit(func(e *pinchv1.Edit) {
			e.Length, e.ReplacedSha256 = 0, empty[:]
		})},
		"past the end":     {edit(func(e *pinchv1.Edit) { e.Length = 10_000 })},
		"far past the end": {edit(func(e *pinchv1.Edit) { e.Offset, e.Length = math.MaxInt64, math.MaxInt64 })},
		"sum overflows":    {edit(func(e *pinchv1.Edit) { e.Offset, e.Length = 4, math.MaxInt64-2 })},
		"descending":       {another, edit()},
		"twice the same":   {edit(), edit()},
		"overlapping":      {edit(), pinchtest.ByteEdit([]byte(sent), `text"},`, `"x"`)},
		"second one wrong": {edit(), pinchtest.ByteEdit([]byte(sent), `"another"`, `"x`)},
		"unclosed":         {edit(func(e *pinchv1.Edit) { e.Replacement = []byte(`"x`) })},
		"two values":       {edit(func(e *pinchv1.Edit) { e.Replacement = []byte(`"x","y"`) })},
		"empty":            {edit(func(e *pinchv1.Edit) { e.Replacement = nil })},
		"not UTF-8":        {edit(func(e *pinchv1.Edit) { e.Replacement = []byte("\"\xff\"") })},
		"deep":             {edit(func(e *pinchv1.Edit) { e.Replacement = bytes.Repeat([]byte("["), 1<<20) })},
	} {
		t.Run(name, func(t *testing.T) {
			server := pinchtest.Script(t, pinchtest.Reply(&pinchv1.PruneResponse{Edits: edits, DecisionId: "d"}))
			expectReplyError(t, failsOpen(t, connect(t, server.Address)))
			_, err := prune(t, connect(t, server.Address, pinch.WithStrict()))
			expectReplyError(t, err)
		})
	}
}

// Many right edits in one reply give what replacing text by text gives.
func TestC6ManyEditsAreSplicedInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var body, want strings.Builder
		var edits []*pinchv1.Edit
		for range 50 {
			value := `"` + strings.Repeat("v", random.IntN(9)) + `"`
			digest := sha256.Sum256([]byte(value))
			if random.IntN(2) == 0 {
				edits = append(edits, &pinchv1.Edit{
					Offset: int64(body.Len()), Length: int64(len(value)),
					Replacement: []byte(`"new"`), ReplacedSha256: digest[:],
				})
				want.WriteString(`"new"`)
			} else {
				want.WriteString(value)
			}
			body.WriteString(value)
		}
		server := pinchtest.Script(t, pinchtest.Reply(&pinchv1.PruneResponse{Edits: edits}))
		result, err := pruneBody(t, connect(t, server.Address, pinch.WithStrict()), []byte(body.String()))
		if err != nil || string(result.Body) != want.String() {
			t.Fatalf("%v: %s, not %s", err, result.Body, want.String())
		}
	}
}

func text(role string, texts ...string) *pinchv1.ChatMessage {
	message := &pinchv1.ChatMessage{Role: role}
	for _, text := range texts {
		part := &pinchv1.ContentPart{Part: &pinchv1.ContentPart_Text{Text: text}}
		message.Content = append(message.Content, part)
	}
	return message
}

func partEdit(message, part int32, replaced string) *pinchv1.Edit {
	digest := sha256.Sum256([]byte(replaced))
	return &pinchv1.Edit{
		MessageIndex: message, PartIndex: proto.Int32(part), ReplacedSha256: digest[:],
		ReplacementPart: &pinchv1.ContentPart{Part: &pinchv1.ContentPart_Text{Text: "new"}},
	}
}

// Edited messages are copies, untouched ones are the caller's own, and the caller's list stays as it was.
func TestC8TypedMessagesAreEditedInACopy(t *testing.T) {
	opaque := &pinchv1.ContentPart{Part: &pinchv1.ContentPart_OpaqueJson{OpaqueJson: []byte(`{"a":1}`)}}
	image := func(made *pinchv1.Image) *pinchv1.ContentPart {
		return &pinchv1.ContentPart{Part: &pinchv1.ContentPart_Image{Image: made}}
	}
	held := image(&pinchv1.Image{Source: &pinchv1.Image_Data{Data: []byte("pixels")}})
	linked := image(&pinchv1.Image{Source: &pinchv1.Image_Url{Url: "https://example.com/i.png"}})
	messages := []*pinchv1.ChatMessage{text("user", "hello"), text("tool", "old", "b"), text("tool")}
	messages[2].Content = []*pinchv1.ContentPart{opaque, held, linked}
	kept := proto.CloneOf(&pinchv1.ChatMessages{Messages: messages})
	server := pinchtest.Script(t, pinchtest.Reply(&pinchv1.PruneResponse{Edits: []*pinchv1.Edit{
		partEdit(1, 0, "old"), partEdit(2, 0, `{"a":1}`), partEdit(2, 1, "pixels"),
		partEdit(2, 2, "https://example.com/i.png"),
	}}))
	result, err := connect(t, server.Address, pinch.WithStrict()).Prune(context.Background(), messages)
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(kept, &pinchv1.ChatMessages{Messages: messages}) {
		t.Error("the caller's messages were changed")
	}
	if result.Body[0] != messages[0] || result.Body[1] == messages[1] {
		t.Error("untouched messages are not shared, or edited ones are")
	}
	want := []*pinchv1.ChatMessage{messages[0], text("tool", "new", "b"), text("tool", "new", "new", "new")}
	if !proto.Equal(&pinchv1.ChatMessages{Messages: want}, &pinchv1.ChatMessages{Messages: result.Body}) {
		t.Errorf("%v", result.Body)
	}
}

// Typed edits that do not fit are refused whole, and the caller's own list comes back.
func TestC6HostileTypedEditsAreRefused(t *testing.T) {
	messages := []*pinchv1.ChatMessage{text("tool", "old", "b"), nil, text("tool", "c")}
	change := func(edit *pinchv1.Edit, change func(*pinchv1.Edit)) *pinchv1.Edit {
		change(edit)
		return edit
	}
	for name, edits := range map[string][]*pinchv1.Edit{
		"no such message":  {partEdit(3, 0, "old")},
		"negative message": {partEdit(-1, 0, "old")},
		"no such part":     {partEdit(0, 2, "old")},
		"negative part":    {partEdit(0, -1, "old")},
		"a nil message":    {partEdit(1, 0, "")},
		"wrong hash":       {partEdit(0, 0, "older")},
		"descending":       {partEdit(2, 0, "c"), partEdit(0, 0, "old")},
		"twice the same":   {partEdit(0, 0, "old"), partEdit(0, 0, "old")},
		"no part index":    {change(partEdit(0, 0, "old"), func(e *pinchv1.Edit) { e.PartIndex = nil })},
		"no replacement":   {change(partEdit(0, 0, "old"), func(e *pinchv1.Edit) { e.ReplacementPart = nil })},
		"hollow replacement": {change(partEdit(0, 0, "old"), func(e *pinchv1.Edit) {
			e.ReplacementPart = &pinchv1.ContentPart{}
		})},
	} {
		t.Run(name, func(t *testing.T) {
			server := pinchtest.Script(t, pinchtest.Reply(&pinchv1.PruneResponse{Edits: edits}))
			result, err := connect(t, server.Address).Prune(context.Background(), messages)
			if err != nil || &result.Body[0] != &messages[0] || result.Pruned {
				t.Fatalf("%v, %+v", err, result)
			}
			expectReplyError(t, result.Err)
		})
	}
}

// A text that is no UTF-8 cannot be put into a request, so it comes back and is not sent.
func TestC1UnsendableMessagesFailOpen(t *testing.T) {
	server := pinchtest.Script(t, pinchtest.Unchanged)
	messages := []*pinchv1.ChatMessage{text("user", "s3cr\xff")}
	result, _ := connect(t, server.Address).Prune(context.Background(), messages)
	var unsendable *pinch.RequestError
	if !errors.As(result.Err, &unsendable) || result.Reason != "invalid_request" || &result.Body[0] != &messages[0] {
		t.Fatalf("%+v", result)
	}
	if strings.Contains(result.Err.Error(), "s3cr") || len(server.Calls()) != 0 {
		t.Errorf("%v, %d calls", result.Err, len(server.Calls()))
	}
}

// Whatever a hostile server sends, an edit without the right hash, or with no JSON to put there, is never applied.
func FuzzC6Edits(f *testing.F) {
	f.Add(int64(51), int64(17), []byte(after), true)
	f.Add(int64(-1), int64(math.MaxInt64), []byte(`"`), false)
	step := make(chan *pinchv1.PruneResponse, 1)
	server := pinchtest.Script(f, func(context.Context, *pinchv1.PruneRequest) (*pinchv1.PruneResponse, error) {
		return <-step, nil
	})
	client := connect(f, server.Address)
	f.Fuzz(func(t *testing.T, offset, length int64, replacement []byte, hashed bool) {
		edit := &pinchv1.Edit{Offset: offset, Length: length, Replacement: replacement}
		if hashed && offset >= 0 && length >= 0 && offset <= int64(len(sent)) && length <= int64(len(sent))-offset {
			digest := sha256.Sum256([]byte(sent)[offset : offset+length])
			edit.ReplacedSha256 = digest[:]
		}
		step <- &pinchv1.PruneResponse{Edits: []*pinchv1.Edit{edit}}
		result, _ := prune(t, client)
		if result.Pruned && (!hashed || !json.Valid(replacement)) {
			t.Errorf("%v was applied", edit)
		}
	})
}
