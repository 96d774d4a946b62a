// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/base64"

	"geosql.dev/standin/sqlerr"
)

// logonMessages takes what logon triggers say to the error log (docs/relational-databases/triggers/logon-triggers.md);
// rows go nowhere.
type logonMessages struct {
	discardWriter
	s *Session
}

func (w *logonMessages) Message(e *sqlerr.Error) error {
	if e.Class > 10 {
		w.s.inst.log.Warn(
			"a logon trigger raised an error",
			"login",
			w.s.login.Name,
			"error",
			e.Number,
			"severity",
			e.Class,
			"state",
			e.State,
			"message",
			e.Message,
		)
	} else {
		w.s.inst.log.Info(e.Message, "login", w.s.login.Name)
	}
	return w.discardWriter.Message(e)
}

// logon fires the logon triggers for a session that is authenticated, in a transaction of theirs. Where that is rolled
// back, or a trigger fails, the client is told 17892 and nothing else. Started with -f, the server fires none: a
// trigger that lets nobody in is dropped so.
func (s *Session) logon(ctx context.Context) error {
	if s.inst.config.Minimal {
		return nil
	}
	event := ddlEvent{kind: "LOGON", fields: s.logonFields()}
	fired, err := s.firings(ctx, []ddlEvent{event})
	if err != nil || len(fired) == 0 {
		return err
	}
	w := &logonMessages{s: s}
	db, settings := s.db, s.settings
	refused := false
	err = s.serve(ctx, "", w, func(ctx context.Context) error {
		err := s.together(ctx, func() error { return s.fireAll(ctx, fired, w) })
		refused = err != nil
		return err
	})
	if err == nil && !refused {
		s.db, s.settings = db, settings
		return nil
	}
	s.inst.log.Warn(
		"Logon failed due to trigger execution",
		"login",
		s.original.Name,
		"client",
		clientAddress(s.request),
		"error",
		17892,
	)
	return sqlerr.New(17892, 1, s.original.Name, "")
}

// logonFields are the elements of EVENTDATA() that are LOGON's own
// (docs/relational-databases/triggers/capture-logon-trigger-event-data.md).
func (s *Session) logonFields() string {
	element := func(name, value string) string { return "<" + name + ">" + escapeText(value) + "</" + name + ">" }
	return element("LoginType", "SQL Login") + element("SID", base64.StdEncoding.EncodeToString(s.original.SID)) +
		element("ClientHost", clientAddress(s.request)) + element("IsPooled", "0")
}
