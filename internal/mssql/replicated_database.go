// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"

	"geosql.dev/operator/internal/tsql"
)

// SubscriptionDatabase is what a subscriber's database has.
type SubscriptionDatabase struct {
	// User of the login that was asked for, and whether it is in db_owner.
	User    string
	IsOwner bool
	// Tables by "schema.name" in lower case.
	Tables map[string]Table
	// Subscriptions that it knows of.
	Subscriptions []SubscriptionHere
	// Fork is its recovery fork, empty when the engine does not tell.
	Fork string
	// Distributor of the pull subscription, empty while no agent was attached to it.
	Distributor string
}

// ReadSubscriptionDatabase reads the connection's database as a subscriber's.
func ReadSubscriptionDatabase(
	ctx context.Context,
	q Querier,
	login string,
	pull tsql.PullSubscription,
) (d SubscriptionDatabase, err error) {
	d.Tables = map[string]Table{}
	reads := append(readTables(d.Tables),
		readOwner(login, &d.User, &d.IsOwner),
		readSubscriptionsHere(&d.Subscriptions),
		readLogEnd(new([]byte), &d.Fork),
		read{tsql.PullAgentHere(pull), func(r Row) error { return r.Scan(&d.Distributor) }})
	err = readAll(ctx, q, "read what the subscription database has", reads...)
	return d, err
}

// PublishedDatabase is what a publisher's database has.
type PublishedDatabase struct {
	// User of the login that was asked for, and whether it is in db_owner.
	User    string
	IsOwner bool
	// Tables by "schema.name" in lower case.
	Tables map[string]Table
	// Received are the subscriptions that it has itself.
	Received []SubscriptionHere
	// What follows is of a published database alone. LogEnd and Fork are as ReadLogEnd reads them.
	LogEnd []byte
	Fork   string
	// Publication that was asked for, nil when there is none; Publications are the names of all, Subscribers who
	// subscribes to any.
	Publication  *Publication
	Publications []string
	Subscribers  []Subscriber
}

// ReadPublishedDatabase reads the connection's database as a publisher's. The tables of publications are there once it
// is published.
func ReadPublishedDatabase(
	ctx context.Context,
	q Querier,
	login, publication string,
	published bool,
) (d PublishedDatabase, err error) {
	d.Tables = map[string]Table{}
	reads := append(readTables(d.Tables), readOwner(login, &d.User, &d.IsOwner), readSubscriptionsHere(&d.Received))
	if published {
		reads = append(reads, readLogEnd(&d.LogEnd, &d.Fork), readPublications(&d.Publications),
			readSubscribers(&d.Subscribers))
		reads = append(reads, readPublication(publication, &d.Publication)...)
	}
	err = readAll(ctx, q, "read what the published database has", reads...)
	return d, err
}
