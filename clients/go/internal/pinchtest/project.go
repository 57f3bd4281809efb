package pinchtest

import (
	"os"
	"path/filepath"
	"testing"
)

// Root is the root of the project, or a skip where the module was taken out of it.
func Root(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "tests", "vectors")); err == nil {
			return folder
		}
	}
	missing(t, "the module does not lie in its project")
	return ""
}

// missing skips a test that lacks something; with PINCHTEST_ALL, as the project's own suite sets it, it fails.
func missing(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("PINCHTEST_ALL") != "" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}
