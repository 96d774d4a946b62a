// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/tds"
)

// singleUser admits one session at a time (-m, -f), of one application when it is named.
type singleUser struct {
	tds.Backend
	application string

	mu    sync.Mutex
	taken bool
}

// Login is error 18461 while another session is open.
func (b *singleUser) Login(ctx context.Context, req tds.LoginRequest) (tds.Session, error) {
	refused := &sqlerr.Error{Number: 18461, Class: 14, State: 1,
		Message: "Login failed for user '" + req.User +
			"'. Reason: Server is in single user mode. Only one administrator can connect at this time."}
	b.mu.Lock()
	admitted := !b.taken && (b.application == "" || b.application == req.AppName)
	b.taken = b.taken || admitted
	b.mu.Unlock()
	if !admitted {
		return nil, refused
	}
	session, err := b.Backend.Login(ctx, req)
	if err != nil {
		b.free()
		return nil, err
	}
	return &onlySession{Session: session, free: sync.OnceFunc(b.free)}, nil
}

func (b *singleUser) free() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken = false
}

type onlySession struct {
	tds.Session
	free func()
}

func (s *onlySession) Close() error {
	defer s.free()
	return s.Session.Close()
}
