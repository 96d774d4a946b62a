// SPDX-License-Identifier: Apache-2.0

package sql

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/plugin/cli"
)

var (
	// rolesWithin bounds the question for the roles, which is asked on a connection of its own.
	rolesWithin = 5 * time.Second
	// rolesFor is how long what a server has said of its roles is believed while batches are sent one after another.
	rolesFor = time.Second
	// settledWithin bounds the first question after a batch that was interrupted: a server that does not answer it within
	// that time is not waited for.
	settledWithin = 10 * time.Second
)

// session is a connection to a server, and what is known of where it leads.
type session struct {
	goal    *goal
	login   login
	console *mssql.Console
	// watched asks for the roles. It is not the console: a question that is refused, or reads a table, may end or begin a
	// transaction there.
	watched   mssql.Querier
	connector *mssql.Connector

	// roles of the server in its groups; nil while they are not known. mayWatch is false once the login was refused them.
	roles    map[string]string
	mayWatch bool
	// looked is when they were asked for, and unsaid why they are not known.
	looked time.Time
	unsaid error
	// state of the session; nil while it is not known.
	state *mssql.SessionState
}

// connect logs in to the goal and looks where it is.
func connect(ctx context.Context, g *goal, l login, database string) (*session, error) {
	s := &session{goal: g, login: l, mayWatch: true}
	s.connector = mssql.NewConnector(mssql.Options{
		Access: mssql.AccessFunc(func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) {
			return l.access, nil
		}),
		Dial: cli.Tunnel{Config: g.at.Config, Namespace: g.namespace, Pod: g.pod(), Port: mssql.Port}.Dial,
		// The Service's name is not looked up: what is dialled is the pod.
		Program: "kubectl-geosql",
	})
	target := mssql.Target{Namespace: g.namespace, Server: g.server, Database: database, Login: l.name,
		ReadOnly: g.role == secondary}
	var err error
	for _, role := range l.roles {
		target.Role = role
		if s.console, err = s.connector.Console(ctx, target); !mssql.PasswordRefused(err) {
			break
		}
	}
	if err == nil {
		// The login's own database may be out of reach while the role is not.
		target.Database = ""
		s.watched, err = s.connector.Open(ctx, target)
	}
	if err != nil {
		s.close()
		if why := mssql.Shut(err, l.user()); why != "" {
			return nil, fmt.Errorf("%w; %s (%s)", err, why, l.from)
		}
		return nil, err
	}
	s.look(ctx)
	if err := s.checkRole(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// close logs out.
func (s *session) close() {
	if s.console != nil {
		_ = s.console.Close()
	}
	_ = s.connector.Close()
}

// look asks where the session is, and what the server is. What does not answer is not known.
func (s *session) look(ctx context.Context) {
	s.state, s.roles, s.unsaid = nil, nil, errEnded
	if s.console.Ended() {
		return
	}
	if state, err := mssql.ReadSessionState(ctx, s.console); err == nil {
		s.state = &state
	}
	s.watch(ctx)
}

// watch asks what the server is in its groups.
func (s *session) watch(ctx context.Context) {
	s.roles, s.unsaid = nil, nil
	if !s.mayWatch {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, rolesWithin)
	defer cancel()
	roles, err := mssql.ReadLocalRoles(ctx, s.watched)
	s.looked, s.unsaid = time.Now(), err
	switch {
	case err == nil:
		s.roles = roles
	case mssql.HasNumber(err, lacksRight...):
		s.mayWatch = false
	}
}

// lacksRight are errors for want of VIEW SERVER STATE or what stands for it since 2022, of SELECT on the views,
// or of a permission in the database. Other errors say nothing of the login.
var lacksRight = []int32{229, 262, 297, 300, 371}

// elsewhere tells before a batch that the server is no longer what it was chosen for: a group may have failed over
// since. A transaction that is open is ended where it is, and who answers no more is still who was checked.
func (s *session) elsewhere(ctx context.Context) error {
	if s.goal.role == "" || s.console.Ended() || s.open() > 0 || time.Since(s.looked) < rolesFor {
		return nil
	}
	if s.watch(ctx); s.roles == nil {
		return nil
	}
	return s.checkRole()
}

// settle looks after a batch was interrupted. A session that does not answer is given up: what comes from the server
// later would be taken for the answer to something else.
func (s *session) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settledWithin)
	defer cancel()
	s.look(ctx)
	if s.state == nil {
		s.console.Abort()
	}
}

var (
	// errElsewhere says that a server is not known to be what it was chosen for.
	errElsewhere = errors.New("nothing was sent")
	errEnded     = errors.New("the connection has ended")
)

// checkRole holds the goal against what the engine says of itself. A login that may not ask for it is sent where the
// status says; an engine that could say it and does not is none that was meant.
func (s *session) checkRole() error {
	g := s.goal
	if g.role == "" || s.roles == nil && !s.mayWatch {
		return nil
	}
	if s.roles == nil {
		return fmt.Errorf("%s does not say what it is in group %s (%w): %w; ask again, or name the server", g.pod(), g.group,
			s.unsaid, errElsewhere)
	}
	switch role, there := s.roles[g.group]; {
	case !there:
		return fmt.Errorf("%s has no replica of group %s: %w", g.pod(), g.group, errElsewhere)
	case role != g.role:
		return fmt.Errorf("%s was taken for a %s of group %s, and says that it is %s: %w; ask again, or name a server",
			g.pod(), g.role, g.group, orUnknown(role), errElsewhere)
	}
	return nil
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}

// role is what the server is, in few words.
func (s *session) role() string {
	switch {
	case s.roles != nil && len(s.roles) == 0:
		return "no group"
	case s.roles != nil:
		var all []string
		for _, group := range slices.Sorted(maps.Keys(s.roles)) {
			all = append(all, orUnknown(s.roles[group])+" of "+cli.Shown(group))
		}
		return strings.Join(all, ", ")
	case s.state != nil && s.state.Updateability != "":
		return "role unknown, " + s.state.Updateability
	}
	return "role unknown"
}

// database that statements are for.
func (s *session) database() string {
	if s.state == nil {
		return "?"
	}
	return cli.Shown(s.state.Database)
}

// open is how many transactions are open, as far as is known.
func (s *session) open() int {
	if s.state == nil {
		return 0
	}
	return s.state.Transactions
}

// prompt says where the next batch goes.
func (s *session) prompt() string {
	if s.console.Ended() {
		return "not connected> "
	}
	text := fmt.Sprintf("%s@%s (%s) %s", cli.Shown(s.login.user()), s.goal.pod(), s.role(), s.database())
	if n := s.open(); n > 0 {
		text += " [" + transactions(n) + "]"
	}
	return text + "> "
}

// banner says where one is, and as whom.
func (s *session) banner() string {
	return fmt.Sprintf("connected to %s at %s: %s; database %s; as login %s (%s)", s.goal.pod(), s.goal.place(), s.role(),
		s.database(), cli.Shown(s.login.user()), s.login.from)
}

func transactions(n int) string {
	if n == 1 {
		return "1 open transaction"
	}
	return fmt.Sprintf("%d open transactions", n)
}
