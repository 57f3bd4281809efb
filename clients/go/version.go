package pinch

import (
	"runtime/debug"
	"strings"
)

const modulePath = "github.com/pinch-grpc/pinch/clients/go"

// version is the module's version as the program was built with it (C10).
var version = moduleVersion(debug.ReadBuildInfo())

func moduleVersion(build *debug.BuildInfo, known bool) string {
	const unknown = "0+unknown"
	if !known {
		return unknown
	}
	for _, module := range append([]*debug.Module{&build.Main}, build.Deps...) {
		if module.Path != modulePath {
			continue
		}
		if module.Replace != nil {
			module = module.Replace
		}
		if number, tagged := strings.CutPrefix(module.Version, "v"); tagged {
			return number
		}
	}
	return unknown
}
