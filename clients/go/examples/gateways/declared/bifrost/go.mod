module github.com/maximhq/bifrost/core

go 1.25.0
