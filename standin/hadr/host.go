// SPDX-License-Identifier: Apache-2.0

package hadr

import (
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/google/uuid"

	"geosql.dev/standin/config"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/hadr/endpoint"
	"geosql.dev/standin/hadr/replica"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/storage"
)

// Security is what this extension needs of the security extension.
type Security interface {
	// Endpoint is the DATABASE_MIRRORING endpoint; Name is empty when there is none.
	Endpoint(ctx context.Context) (Endpoint, error)
	// OnEndpointChange registers a func that is called after the endpoint or its certificate changed.
	OnEndpointChange(func())
	// AuthenticatePeer is nil for the certificate of a login that may connect to the endpoint.
	AuthenticatePeer(ctx context.Context, der []byte) error
	// MayOnGroup tells whether s has a permission on the availability group of that securable ID.
	MayOnGroup(ctx context.Context, s *engine.Session, permission string, id int32) bool
	// MayServer tells whether s has a server permission.
	MayServer(ctx context.Context, s *engine.Session, permission string) bool
	// SetAvailabilityGroups tells how to find the securable ID of a group.
	SetAvailabilityGroups(find func(name string) (id int32, ok bool))
}

// Endpoint is the DATABASE_MIRRORING endpoint.
type Endpoint struct {
	Name    string
	Started bool
	// IP is empty for all addresses.
	IP   string
	Port int
	// Role is WITNESS, PARTNER or ALL.
	Role        string
	Certificate *x509.Certificate
	Key         crypto.PrivateKey
	// Reach is where the endpoint of an ENDPOINT_URL, host:port, is reached; it is looked up there unless given.
	Reach func(address string) string
	// Problem is why the endpoint cannot authenticate; nil when it can.
	Problem error
}

// host is the instance as the replicas see it.
type host struct{ e *Extension }

// Ensure that replicas can live in it.
var _ replica.Host = host{}

// ServerName serves replica.Host.
func (h host) ServerName() string { return h.e.inst.ServerName() }

// Log serves replica.Host.
func (h host) Log() *slog.Logger { return h.e.inst.Log() }

// TraceFlag serves replica.Host.
func (h host) TraceFlag(flag int) bool { return h.e.inst.TraceFlag(flag) }

// Answers serves replica.Host.
func (h host) Answers(name config.Answer) bool { return h.e.inst.Answers(name) }

// Identity serves replica.Host.
func (h host) Identity(ctx context.Context) (*endpoint.Identity, error) {
	ep, err := h.e.security.Endpoint(ctx)
	switch {
	case err != nil:
		return nil, err
	case ep.Name == "":
		return nil, errors.New("the server has no database mirroring endpoint; run CREATE ENDPOINT")
	case !ep.Started:
		return nil, errors.New("the database mirroring endpoint is not STARTED; run ALTER ENDPOINT")
	case ep.Problem != nil:
		return nil, ep.Problem
	}
	return &endpoint.Identity{
		Reach:       ep.Reach,
		Certificate: tls.Certificate{Certificate: [][]byte{ep.Certificate.Raw}, PrivateKey: ep.Key, Leaf: ep.Certificate},
		Authorize: func(ctx context.Context, c *x509.Certificate) error {
			return h.e.security.AuthenticatePeer(ctx, c.Raw)
		},
	}, nil
}

// Database serves replica.Host.
func (h host) Database(name string) *storage.Database {
	db := h.e.inst.Database(name)
	if db == nil {
		return nil
	}
	return db.Storage()
}

// Exists serves replica.Host.
func (h host) Exists(name string) bool { return h.e.inst.Database(name) != nil }

// DefaultFolders serves replica.Host.
func (h host) DefaultFolders() (data, log string) {
	c := h.e.inst.Config()
	data, log = c.DataDir, c.LogDir
	if log == "" {
		log = data
	}
	return data, log
}

// Disconnect serves replica.Host.
func (h host) Disconnect(database string) {
	if db := h.e.inst.Database(database); db != nil {
		h.e.inst.Disconnect(db)
	}
}

// Settings serves replica.Host.
func (h host) Settings(database string) json.RawMessage {
	db := h.e.inst.Database(database)
	if db == nil {
		return nil
	}
	raw, err := json.Marshal(db.Settings())
	if err != nil {
		h.e.inst.Log().
			Error("The options of a database cannot be told to its secondaries.", "database", database, "error", err)
	}
	return raw
}

// TakeSettings serves replica.Host.
func (h host) TakeSettings(ctx context.Context, database string, settings json.RawMessage) error {
	var s engine.DatabaseSettings
	if err := json.Unmarshal(settings, &s); err != nil {
		return fmt.Errorf("read the options of database %q: %w", database, err)
	}
	if db := h.e.inst.Database(database); db != nil {
		return db.TakeSettings(ctx, s)
	}
	return nil
}

// Seed serves replica.Host.
func (h host) Seed(ctx context.Context, spec replica.SeedSpec, open replica.OpenFunc) error {
	if db := h.e.inst.Database(spec.Name); db != nil {
		return h.e.inst.ReplaceStorage(ctx, db, engine.Opener(open))
	}
	logical := strings.TrimSpace(spec.Name)
	info := engine.DatabaseInfo{Name: spec.Name, OwnerSID: spec.OwnerSID, Files: []metadata.File{
		{ID: 1, LogicalName: logical, PhysicalName: spec.Files.Data, SizePages: 1024, MaxSizePages: -1, Growth: 8192},
		{
			ID:           2,
			Log:          true,
			LogicalName:  logical + "_log",
			PhysicalName: spec.Files.Log,
			SizePages:    1024,
			MaxSizePages: 268435456,
			Growth:       8192,
		},
	}}
	_, err := h.e.inst.AddDatabase(ctx, info, engine.Opener(open))
	return err
}

// Member serves replica.Host.
func (h host) Member(ctx context.Context, database string, replicaID, groupDatabase uuid.UUID) error {
	db := h.e.inst.Database(database)
	if db == nil {
		return nil
	}
	if known := db.Info(); known.ReplicaID == replicaID && known.GroupDatabaseID == groupDatabase {
		return nil
	}
	return db.Update(ctx, func(i *engine.DatabaseInfo) { i.ReplicaID, i.GroupDatabaseID = replicaID, groupDatabase })
}

// Restoring serves replica.Host.
func (h host) Restoring(ctx context.Context, database string, restoring bool) error {
	db := h.e.inst.Database(database)
	if db == nil {
		return nil
	}
	if err := db.Update(ctx, func(i *engine.DatabaseInfo) { i.Restoring = restoring }); err != nil {
		return err
	}
	if restoring {
		db.SetState(engine.Restoring)
	} else {
		db.SetState(engine.Online)
	}
	return nil
}
