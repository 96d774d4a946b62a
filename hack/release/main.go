// SPDX-License-Identifier: Apache-2.0

// Command release makes what a release consists of, out of the commit that is checked out, and pushes the image where
// it is told to. `make release` runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	o := options{}
	flag.StringVar(&o.root, "root", ".", "the checkout")
	flag.StringVar(&o.out, "out", "dist", "the folder in which one named as the version is made, or made anew")
	flag.StringVar(&o.version, "version", "", "a semantic version without build metadata, such as 0.2.0 or 0.2.0-rc.1")
	flag.StringVar(&o.registry, "registry", "",
		"where the image is pushed and pulled from, such as registry.example/team; it is pushed nowhere unless given")
	flag.StringVar(&o.downloads, "downloads", "",
		"the address below which the plugin's archives will be served; else the krew manifest is for archives at hand")
	flag.StringVar(&o.images, "images", "linux/amd64,linux/arm64", "platforms of the image")
	flag.StringVar(&o.plugins, "plugins",
		"linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64", "platforms of the plugin")
	flag.StringVar(&o.helm, "helm", "helm", "the program helm")
	flag.BoolVar(&o.changed, "changed", false,
		"take files that differ from the commit, too: what is made then cannot be made again from the commit")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release: "+err.Error())
		os.Exit(1)
	}
}
