// The plugin for Bifrost and the step for llm-d, a module of its own so that no user of the client depends on either.
module github.com/pinch-grpc/pinch/clients/go/examples/gateways

go 1.25.0

require (
	github.com/llm-d/llm-d-router v0.0.0
	github.com/maximhq/bifrost/core v0.0.0
	github.com/pinch-grpc/pinch/clients/go v0.0.0
	github.com/spf13/viper v1.21.0
)

require (
	github.com/fsnotify/fsnotify v1.9.0 // indirect
	github.com/go-viper/mapstructure/v2 v2.4.0 // indirect
	github.com/pelletier/go-toml/v2 v2.2.4 // indirect
	github.com/sagikazarmark/locafero v0.11.0 // indirect
	github.com/sourcegraph/conc v0.3.1-0.20240121214520-5f936abd7ae8 // indirect
	github.com/spf13/afero v1.15.0 // indirect
	github.com/spf13/cast v1.10.0 // indirect
	github.com/spf13/pflag v1.0.10 // indirect
	github.com/subosito/gotenv v1.6.0 // indirect
	go.yaml.in/yaml/v3 v3.0.4 // indirect
	golang.org/x/net v0.51.0 // indirect
	golang.org/x/sys v0.42.0 // indirect
	golang.org/x/text v0.34.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260226221140-a57be14db171 // indirect
	google.golang.org/grpc v1.81.1 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	// What the examples name of the gateways, declared as they declare it, so that the examples are compiled and run
	// without the gateways. Leave these two lines out, and require the versions of your gateways.
	github.com/llm-d/llm-d-router => ./declared/llmd
	github.com/maximhq/bifrost/core => ./declared/bifrost
	github.com/pinch-grpc/pinch/clients/go => ../..
)
