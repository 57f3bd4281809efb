package pinch

import (
	"runtime/debug"
	"testing"
)

// C10: the version is that of the module in the program's build, wherever it stands there.
func TestC10VersionComesFromTheBuild(t *testing.T) {
	module := func(version string, replace *debug.Module) *debug.Module {
		return &debug.Module{Path: modulePath, Version: version, Replace: replace}
	}
	for want, build := range map[string]*debug.BuildInfo{
		"1.2.3":     {Deps: []*debug.Module{{Path: "other", Version: "v9.0.0"}, module("v1.2.3", nil)}},
		"1.3.0":     {Main: *module("v1.3.0", nil)},
		"1.4.0":     {Deps: []*debug.Module{module("v1.2.3", &debug.Module{Path: "fork", Version: "v1.4.0"})}},
		"0+unknown": {Main: *module("(devel)", nil)},
	} {
		if got := moduleVersion(build, true); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	if got := moduleVersion(nil, false); got != "0+unknown" {
		t.Error(got)
	}
}
