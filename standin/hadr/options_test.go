// SPDX-License-Identifier: Apache-2.0

package hadr

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/catalog"
	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
)

func number(err error) int32 {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

func TestReplicaRules(t *testing.T) {
	text := func(s string) *string { return &s }
	count := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		name string
		spec syntax.ReplicaSpec
		want int32
	}{
		{"complete", syntax.ReplicaSpec{Server: "b", EndpointURL: text("TCP://b:5022"),
			AvailabilityMode: text("SYNCHRONOUS_COMMIT"), FailoverMode: text("EXTERNAL")}, 0},
		{"no mode", syntax.ReplicaSpec{Server: "b", EndpointURL: text("TCP://b:5022"), FailoverMode: text("EXTERNAL")},
			41198},
		{"no failover mode", syntax.ReplicaSpec{Server: "b", EndpointURL: text("TCP://b:5022"),
			AvailabilityMode: text("SYNCHRONOUS_COMMIT")}, 41197},
		{"no URL", syntax.ReplicaSpec{Server: "b", AvailabilityMode: text("SYNCHRONOUS_COMMIT"),
			FailoverMode: text("EXTERNAL")}, 35236},
		{"twice", syntax.ReplicaSpec{Server: "A", AvailabilityMode: text("SYNCHRONOUS_COMMIT")}, 35235},
		{"seeding of a configuration-only replica",
			syntax.ReplicaSpec{Server: "b", EndpointURL: text("TCP://b:5022"), AvailabilityMode: text("CONFIGURATION_ONLY"),
				SeedingMode: text("AUTOMATIC")}, 47110},
		{"short time-out", syntax.ReplicaSpec{Server: "b", EndpointURL: text("TCP://b:5022"),
			AvailabilityMode: text("SYNCHRONOUS_COMMIT"), FailoverMode: text("EXTERNAL"), SessionTimeout: count(4)}, 35214},
		{"routing URL", syntax.ReplicaSpec{Server: "b", EndpointURL: text("TCP://b:5022"),
			AvailabilityMode: text("SYNCHRONOUS_COMMIT"), FailoverMode: text("EXTERNAL"),
			SecondaryRole: &syntax.RoleSpec{ReadOnlyRoutingURL: text("b")}}, 19401},
	} {
		conf := &group.Configuration{
			Name:     "ag",
			Options:  group.Options{ClusterType: group.External},
			Replicas: []group.Replica{{Server: "a"}},
		}
		_, err := newReplica(conf, &c.spec, nil, time.Now())
		NewWithT(t).Expect(number(err)).To(Equal(c.want), c.name)
	}
}

func TestGroupRules(t *testing.T) {
	modes := func(required int, all ...group.AvailabilityMode) *group.Configuration {
		c := &group.Configuration{
			Name:    "ag",
			Options: group.Options{ClusterType: group.External, RequiredSynchronized: required},
		}
		for _, m := range all {
			c.Replicas = append(c.Replicas, group.Replica{Mode: m})
		}
		return c
	}
	s, w, a := group.Synchronous, group.ConfigurationOnly, group.Asynchronous
	for _, c := range []struct {
		conf      *group.Configuration
		operation string
		want      int32
	}{
		{modes(1, s, s, s), createOperation, 0},
		{modes(0, s, s, w), createOperation, 0},
		{modes(0, s, w), createOperation, 47108},
		{modes(0, s, w), "REMOVE REPLICA", 0},
		{modes(0, s, s, s, w), "ADD REPLICA", 47108},
		{modes(0, s, s, w, w), createOperation, 47107},
		{modes(3, s, s, s), createOperation, 35248},
		{modes(1, s, a), createOperation, 35248},
		{modes(0, s, s, s, s, s, s), createOperation, 35212},
		{modes(0, s, a, a, a, a, a, a, a, a, a), "ADD REPLICA", 35223},
	} {
		NewWithT(t).Expect(number(checkGroup(c.conf, c.operation))).To(Equal(c.want), "%v", c.conf.Replicas)
	}
}

func TestListenerRules(t *testing.T) {
	g := NewWithT(t)
	c := &group.Configuration{Name: "ag"}
	count := func(n int64) *int64 { return &n }
	ip := syntax.ListenerAddress{IP: "10.0.0.1", Mask: "0.0.0.0"}
	g.Expect(number(addListener(c, syntax.ListenerSpec{Name: "bad.name", IPs: []syntax.ListenerAddress{ip}}))).
		To(Equal(int32(19485)))
	g.Expect(number(addListener(c,
		syntax.ListenerSpec{Name: "l", IPs: []syntax.ListenerAddress{{IP: "10.0.0.300", Mask: "0.0.0.0"}}}))).
		To(Equal(int32(19483)))
	g.Expect(number(addListener(c, syntax.ListenerSpec{Name: "l", IPs: []syntax.ListenerAddress{ip, ip}}))).
		To(Equal(int32(19484)))
	g.Expect(addListener(c, syntax.ListenerSpec{Name: "l", IPs: []syntax.ListenerAddress{ip}})).To(Succeed())
	g.Expect(c.Listeners[0].Port).To(Equal(1433))
	g.Expect(number(addListener(c, syntax.ListenerSpec{Name: "m"}))).To(Equal(int32(19477)))
	g.Expect(number(modifyListener(c, syntax.AGModifyListener{Name: "l", Port: count(1433)}))).To(Equal(int32(19468)))
	g.Expect(number(modifyListener(c, syntax.AGModifyListener{Name: "x", Port: count(1434)}))).To(Equal(int32(19469)))
	g.Expect(modifyListener(c, syntax.AGModifyListener{Name: "l", Port: count(1434)})).To(Succeed())
}

func TestAViewHasItsDocumentedColumnsOnly(t *testing.T) {
	g := NewWithT(t)
	info, ok := catalog.View("sys.dm_hadr_name_id_map")
	g.Expect(ok).To(BeTrue())
	rows, err := arrange(info, []row{{"ag_id": "x", "ag_name": "n"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(rows).To(Equal([][]any{{"n", "x", nil, nil}}))
	_, err = arrange(info, []row{{"ag_identity": "x"}})
	g.Expect(err).To(HaveOccurred())
}
