// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"strconv"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/tsql"
)

// Security modes and encryption of an agent's command line
// (docs/relational-databases/replication/agents/replication-distribution-agent.md).
const (
	// sqlLogin is a SecurityMode: Linux without a domain has no Windows authentication, which is the default.
	sqlLogin = 0
	// encryptionLevel is the first parameter of a log reader that a profile may say; no secret comes after it.
	encryptionLevel = "EncryptionLevel"
	// encrypted is an EncryptionLevel: TLS, whatever the certificate; the engines refuse connections without it.
	encrypted = 1
	// Values of SubscriptionType.
	push, pull = 0, 1
)

// distributor appends how an agent connects to the distributor.
func (s System) distributor(c tsql.Command) tsql.Command {
	return s.distributorAs(c, s.Login, s.AgentPassword)
}

func (s System) distributorAs(c tsql.Command, login, password string) tsql.Command {
	return c.With("Distributor", s.Host()).WithNumber("DistributorSecurityMode", sqlLogin).
		With("DistributorLogin", login).WithSecret("DistributorPassword", password)
}

// publisher appends how an agent connects to the publisher. Its name is the original publisher's, whatever that is
// redirected to.
func (s System) publisher(c tsql.Command, publisher, database string) tsql.Command {
	return c.With("Publisher", publisher).With("PublisherDB", database).WithNumber("PublisherSecurityMode", sqlLogin).
		With("PublisherLogin", s.Login).WithSecret("PublisherPassword", s.AgentPassword)
}

// LogReaderCommand is the log reader's command line; setsUp is that of one which can set subscribers up.
func (s System) LogReaderCommand(
	publisher, database string,
	profile *v1alpha1.AgentProfileSpec,
	setsUp bool,
) tsql.Command {
	c := s.publisher(tsql.NewCommand(), publisher, database)
	if setsUp {
		c = s.distributorAs(c, s.SetUpLogin, s.SetUpPassword)
	} else {
		c = s.distributor(c)
	}
	return parameters(c.WithNumber(encryptionLevel, encryption(profile)).Flag("Continuous"), profile)
}

// LogReaderCommandLike is the command line of a log reader that cannot set subscribers up, with what another one that
// LogReaderCommand made has from its profile.
func (s System) LogReaderCommandLike(publisher, database, other string) tsql.Command {
	c := s.distributor(s.publisher(tsql.NewCommand(), publisher, database))
	if like, ok := c.EndingAs(other, encryptionLevel); ok {
		return like
	}
	return s.LogReaderCommand(publisher, database, nil, false)
}

// SnapshotCommand is the snapshot agent's command line.
func (s System) SnapshotCommand(
	publisher, database, publication string,
	profile *v1alpha1.AgentProfileSpec,
) tsql.Command {
	c := s.publisher(tsql.NewCommand(), publisher, database).With("Publication", publication)
	return parameters(s.distributor(c).WithNumber("EncryptionLevel", encryption(profile)), profile)
}

// DistributionCommand is the distribution agent's command line.
func (s System) DistributionCommand(
	publisher, publisherDatabase string,
	to tsql.Subscription,
	profile *v1alpha1.AgentProfileSpec,
) tsql.Command {
	c := tsql.NewCommand().
		With("Publisher", publisher).
		With("PublisherDB", publisherDatabase).
		With("Publication", to.Publication)
	c = s.distributor(c).With("Subscriber", to.Subscriber).With("SubscriberDB", to.Database).
		WithNumber("SubscriberSecurityMode", sqlLogin).
		With("SubscriberLogin", s.Login).WithSecret("SubscriberPassword", s.AgentPassword)
	kind := push
	if to.Pull {
		kind = pull
	}
	return parameters(
		c.WithNumber("SubscriptionType", kind).WithNumber("EncryptionLevel", encryption(profile)).Flag("Continuous"),
		profile,
	)
}

// encryption is an agent's EncryptionLevel.
func encryption(profile *v1alpha1.AgentProfileSpec) int {
	if profile != nil && profile.EncryptionLevel != nil {
		return int(*profile.EncryptionLevel)
	}
	return encrypted
}

// parameters appends a profile's parameters: what the command line says wins over the profile that the agent has at the
// distributor.
func parameters(c tsql.Command, profile *v1alpha1.AgentProfileSpec) tsql.Command {
	if profile == nil {
		return c
	}
	for _, p := range []struct {
		name  string
		value *int32
	}{
		{"CommitBatchSize", profile.CommitBatchSize},
		{"CommitBatchThreshold", profile.CommitBatchThreshold},
		{"SubscriptionStreams", profile.SubscriptionStreams},
		{"OledbStreamThreshold", profile.OledbStreamThreshold},
		{"KeepAliveMessageInterval", profile.KeepAliveMessageInterval},
		{"TransactionsPerHistory", profile.TransactionsPerHistory},
		{"ReadBatchSize", profile.ReadBatchSize},
		{"MaxCmdsInTran", profile.MaxCmdsInTran},
		{"LogScanThreshold", profile.LogScanThreshold},
		{"PollingInterval", profile.PollingInterval},
		{"PacketSize", profile.PacketSize},
		{"BcpBatchSize", profile.BcpBatchSize},
		{"MaxBcpThreads", profile.MaxBcpThreads},
		{"HistoryVerboseLevel", profile.HistoryVerboseLevel},
		{"LoginTimeOut", profile.LoginTimeout},
		{"QueryTimeOut", profile.QueryTimeout},
	} {
		if p.value != nil {
			c = c.WithNumber(p.name, int(*p.value))
		}
	}
	if profile.OledbStreamThreshold != nil {
		// Without it the threshold has no effect.
		c = c.Flag("UseOledbStreaming")
	}
	if len(profile.SkipErrors) > 0 {
		numbers := make([]string, len(profile.SkipErrors))
		for i, n := range profile.SkipErrors {
			numbers[i] = strconv.Itoa(int(n))
		}
		c = c.WithWord("SkipErrors", strings.Join(numbers, ":"))
	}
	return c
}
