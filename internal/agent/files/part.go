// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"log/slog"

	"geosql.dev/operator/internal/agent/orders"
)

// Source tells the orders.
type Source interface {
	// Watch calls update with the data of the server's orders, now and after each change, until ctx ends.
	Watch(ctx context.Context, update func(data map[string][]byte)) error
}

// Part is what a server's sidecar does about snapshots: it serves those that are here to the sidecars that may read
// them, and keeps mirrors of those that its own engine needs.
type Part struct {
	source  Source
	server  *Server
	mirrors *Mirrors
	log     *slog.Logger
}

// NewPart serves snapshotDir and keeps mirrors below mirrorDir.
func NewPart(source Source, snapshotDir, mirrorDir string, log *slog.Logger) *Part {
	return &Part{source: source, server: NewServer(snapshotDir, log), mirrors: NewMirrors(mirrorDir, log), log: log}
}

// PartName is the part's name, under which /status has the Statuses of its mirrors.
const PartName = "mirrors"

// Name of the part.
func (p *Part) Name() string { return PartName }

// Server answers under Pattern.
func (p *Part) Server() *Server { return p.server }

// Run follows the orders until ctx ends.
func (p *Part) Run(ctx context.Context) error {
	return p.source.Watch(ctx, func(data map[string][]byte) {
		readers, errs := orders.Readers(data)
		mirrors, more := orders.Mirrors(data)
		for _, err := range append(errs, more...) {
			p.log.Warn("orders that cannot be read", "error", err)
		}
		p.server.SetReaders(readers)
		p.mirrors.Set(ctx, mirrors)
	})
}

// Status of the mirrors.
func (p *Part) Status() any { return p.mirrors.Statuses() }
