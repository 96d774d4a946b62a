// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// The engine reads its certificate once, when it starts; manager and sidecars read ca.crt all the time. So a CA is
// trusted before anything shows a certificate of it, and until nothing shows one any more. Otherwise whoever asks the
// engine could not, the primary would get no lease, and no server its turn to restart.

// Partner is a server of the same groups: its sidecar and this one's verify each other.
type Partner struct {
	Server v1alpha1.ServerName
	// Certificate is what the hub's Secret of its certificate holds; nil when there is none yet.
	Certificate reconcile.Reading[map[string][]byte]
	// Loaded are the fingerprints of the CAs that its sidecar says to have in its files, where the kubelet brings the
	// Secret's some time later; none of a release that does not tell. It is asked only while a CA is to change.
	Loaded reconcile.Reading[[]string]
}

// lacks says why a partner cannot be shown a certificate of the CA yet; empty when it can. patient waits for a sidecar
// that does not answer: one that starts reads its files anew.
func (p Partner) lacks(authority []byte, patient bool) string {
	data, err := p.Certificate.Get()
	if err != nil || !credentials.HasCAs(credentials.TrustOf(data), authority) {
		return string(p.Server)
	}
	loaded, err := p.Loaded.Get()
	switch {
	case err != nil && patient:
		return fmt.Sprintf("%s, whose sidecar is to say so (%v); if its site is gone for good, set the Site's "+
			"lifecycle to Lost",
			p.Server, err)
	case err != nil:
		return ""
	}
	for _, ca := range credentials.Fingerprints(authority) {
		if len(loaded) > 0 && !slices.Contains(loaded, ca) {
			return fmt.Sprintf("%s, whose sidecar does not have the files yet", p.Server)
		}
	}
	return ""
}

// planCertificate brings the server's certificate to the site and to the hub.
func planCertificate(d Desired, o Observed, p *reconcile.Plan) bool {
	planIssue(d, o, p)
	if d.given() != "" {
		return planUserCertificate(d, o, p)
	}
	if reason, why := unissued(d, o); why != "" {
		if _, usable := keptCertificate(d, o); usable {
			// planKeptCertificate says so, once everything else is as declared.
			return writeCertificate(d, o, o.SiteCertificate, credentials.IssuersOf(o.SiteCertificate), p)
		}
		return p.Settle(conditions.Stalled(reason, "no certificate is issued: "+why))
	}
	if why := authorityNeeded(o); why != "" {
		if len(o.SiteCertificate) > 0 || o.Authority != nil {
			p.Add(MakeAuthority{Reason: why})
			return p.Settle(inProgress("the operator's CA is being made: " + why))
		}
		p.Add(IssueCertificate{Names: d.certificateNames(), Reason: "the operator's CA is made"})
		return p.Settle(inProgress("the certificate is being issued"))
	}
	why := o.Authority.Renewal(o.SiteCertificate, d.certificateNames(), o.Now)
	if why == "" {
		return writeCertificate(d, o, o.SiteCertificate, o.Authority.PEM(), p)
	}
	if waits := announce(d, o, o.Authority.PEM()); waits != "" {
		pend(p, "a new certificate is needed ("+why+"); "+waits, v1alpha1.ReasonRestartNeeded)
		return writeCertificate(d, o, o.SiteCertificate, o.Authority.PEM(), p)
	}
	trust, issuers := trusted(o, o.Authority.PEM(), false)
	p.Add(
		IssueCertificate{
			Names:     d.certificateNames(),
			Authority: o.Authority.PEM(),
			Trust:     trust,
			Issuers:   issuers,
			Reason:    why,
		},
	)
	refresh(o, p)
	return p.Settle(inProgress("the certificate is being issued: " + why))
}

// unissued says why no certificate is issued although one is to be; empty when none is to be, or one is.
func unissued(d Desired, o Observed) (reason, why string) {
	if o.AuthorityError != nil {
		return v1alpha1.ReasonCertificateInvalid, o.AuthorityError.Error()
	}
	if why = clocksDiffer(o); why == "" || !issues(d, o) {
		return "", ""
	}
	return v1alpha1.ReasonClocksDiffer, why
}

// issues tells whether a CA or a certificate is to be made.
func issues(d Desired, o Observed) bool {
	return authorityNeeded(o) != "" || o.Authority.Renewal(o.SiteCertificate, d.certificateNames(), o.Now) != ""
}

// clocksDiffer says why the manager's clock is no measure for when a certificate begins and ends; empty when it is. By
// one that is ahead everything would be renewed, with a restart of each engine, and trusted by nobody until that time
// comes; by one that is behind nothing would be renewed in time.
func clocksDiffer(o Observed) string {
	if len(o.Clocks) == 0 {
		return "neither hub nor site has told the time in its answers (header Date), with which the manager's clock is " +
			"compared; let no proxy take it out"
	}
	for _, clock := range o.Clocks {
		apart := clock.Ahead.Apart()
		if apart.Abs() <= credentials.MaxClockDifference {
			continue
		}
		way := "ahead of"
		if apart < 0 {
			way = "behind"
		}
		return fmt.Sprintf(
			"the clock of the API server of %s is %s %s the manager's, and %s at most are allowed: set the clock that is "+
				"wrong, that of the manager's node or that of the API server's",
			clock.Of, apart.Abs().Round(time.Second), way, credentials.MaxClockDifference,
		)
	}
	return ""
}

// authorityNeeded says why the operator's CA must be made; empty when the one that is there goes on.
func authorityNeeded(o Observed) string {
	if o.Authority == nil {
		return "there is none"
	}
	return o.Authority.Unfit(o.Now)
}

func planUserCertificate(d Desired, o Observed, p *reconcile.Plan) bool {
	if lacks := unusable(d, o); lacks.why != "" {
		if _, kept := keptCertificate(d, o); kept {
			// Nothing but the change waits: neither a restart of this server, nor its turn, nor those of others.
			return writeCertificate(d, o, o.SiteCertificate, credentials.IssuersOf(o.SiteCertificate), p)
		}
		return p.Settle(lacks.outcome(fmt.Sprintf("%s can't be used: %s", d.given(), lacks.why)))
	}
	authority := o.UserCertificate[credentials.KeyCA]
	if waits := announce(d, o, authority); waits != "" {
		pend(p, d.given()+" is of another CA; "+waits, v1alpha1.ReasonRestartNeeded)
		return writeCertificate(d, o, o.SiteCertificate, authority, p)
	}
	return writeCertificate(d, o, o.UserCertificate, authority, p)
}

// keptCertificate is the one that the server has at its site, with which it goes on where spec.tls names none that can
// be used; false when it can't be used either.
func keptCertificate(d Desired, o Observed) (credentials.Certificate, bool) {
	certificate, err := credentials.ParseCertificate(o.SiteCertificate)
	return certificate, err == nil && certificate.Covers(d.host()) && certificate.Unfit(o.Now) == ""
}

// planKeptCertificate says, when everything else is as declared, that the certificate of spec.tls is not.
func planKeptCertificate(d Desired, o Observed, p *reconcile.Plan) bool {
	if d.given() == "" {
		return planUnissued(d, o, p)
	}
	lacks, says := unusable(d, o), "can't be used"
	if lacks.why == "" && d.issuer() != nil {
		// What was issued before is good, and not as it is asked for now.
		lacks, says = issueLacks(d, o), "is not as it is declared"
	}
	if lacks.why == "" {
		return true
	}
	kept, _ := keptCertificate(d, o)
	if unheard := unfitForGroups(d, kept); unheard != "" {
		// The server serves, but no group is to be made with it, and nobody else restarts beside it.
		return p.Settle(conditions.Stalled(v1alpha1.ReasonCertificateInvalid, fmt.Sprintf(
			"%s %s: %s. Nor can the certificate that the server has: %s", d.given(), says, lacks.why, unheard)))
	}
	lacks.reason = v1alpha1.ReasonCertificateKept
	return p.Settle(lacks.outcome(fmt.Sprintf(
		"%s %s: %s. The server goes on with the certificate that it has, which ends at %s; everything else is as declared",
		d.given(), says, lacks.why, kept.Expires.UTC().Format(time.RFC3339))))
}

// planUnissued says, when everything else is as declared, that the server's certificate is to be renewed and is not.
func planUnissued(d Desired, o Observed, p *reconcile.Plan) bool {
	_, why := unissued(d, o)
	if why == "" {
		return true
	}
	needed := "a new certificate is needed, and none is issued: "
	if o.AuthorityError != nil {
		needed = "no certificate can be issued: "
	}
	kept, _ := keptCertificate(d, o)
	return p.Settle(conditions.Stalled(v1alpha1.ReasonCertificateKept, fmt.Sprintf(
		"%s%s. The server goes on with the one that it has, which ends at %s; everything else is as declared",
		needed, why, kept.Expires.UTC().Format(time.RFC3339))))
}

// unusable says why the server is not given the certificate that spec.tls names; no reason when it is.
func unusable(d Desired, o Observed) lack {
	if o.UserCertificateError != nil && d.issuer() != nil {
		if lacks := issueLacks(d, o); lacks.why != "" {
			return lacks
		}
	}
	return lack{reason: v1alpha1.ReasonCertificateInvalid, why: unfit(d, o)}
}

// unfit says why the server cannot have the certificate that spec.tls names; empty when it can.
func unfit(d Desired, o Observed) string {
	if o.UserCertificateError != nil {
		return o.UserCertificateError.Error()
	}
	certificate, err := credentials.ParseCertificate(o.UserCertificate)
	if err != nil {
		return err.Error()
	}
	if !certificate.Covers(d.host()) {
		return fmt.Sprintf("it is not for the name %s but for %s", d.host(), strings.Join(certificate.Names, ", "))
	}
	if err := certificate.Of(d.host(), d.Server.Namespace); err != nil {
		// Neither manager nor sidecars would take the server for this one.
		return err.Error()
	}
	if why := unfitForGroups(d, certificate); why != "" {
		return why
	}
	return certificate.Unfit(o.Now)
}

// unfitForGroups says why the sidecars of a group's other servers would not listen to one that shows the certificate:
// nobody could be elected. Empty when they do, or the server is in no group.
func unfitForGroups(d Desired, certificate credentials.Certificate) string {
	if len(d.Groups) == 0 {
		return ""
	}
	groups := "in group " + strings.Join(d.Groups, ", ") + " sidecars show it to each other: "
	for _, name := range []string{d.host() + "." + d.Server.Namespace, d.host() + "." + d.Server.Namespace + ".svc"} {
		if !certificate.Covers(name) {
			return fmt.Sprintf(
				"%sit must be for the name %s, too, and is for %s",
				groups,
				name,
				strings.Join(certificate.Names, ", "),
			)
		}
	}
	if !certificate.Client {
		return groups + "its extended key usage must have client auth beside server auth"
	}
	return ""
}

// announce says what a certificate of the CA waits for, while what is shown is of another one: that all who verify the
// server trust both. Empty when nothing is shown yet, or nobody could verify what is.
func announce(d Desired, o Observed, authority []byte) string {
	have := o.SiteCertificate
	if !o.changes(authority) {
		return ""
	}
	var wait []string
	if !credentials.HasCAs(credentials.TrustOf(have), authority) ||
		!credentials.HasCAs(credentials.TrustOf(o.HubCertificate), authority) {
		wait = append(wait, string(d.name()))
	}
	if o.Readers != nil && !credentials.HasCAs(o.Readers[credentials.KeyCA], authority) {
		wait = append(wait, "the readers of the sidecars")
	}
	// An engine whose certificate has ended is verified by nobody: what it shows is replaced before.
	certificate, err := credentials.ParseCertificate(have)
	patient := err == nil && o.Now.Before(certificate.RenewAt.Add(certificate.Expires.Sub(certificate.RenewAt)/2))
	for _, partner := range o.Partners {
		if lacks := partner.lacks(authority, patient); lacks != "" {
			wait = append(wait, lacks)
		}
	}
	if len(wait) == 0 {
		return ""
	}
	return "it is shown once its CA is trusted beside the present one by " + strings.Join(wait, ", ")
}

// changes says whether what the server shows, and somebody can verify, is of another CA than the one that it is to
// have.
func (o Observed) changes(authority []byte) bool {
	certificate, err := credentials.ParseCertificate(o.SiteCertificate)
	return err == nil && certificate.Verified(o.Now) && !credentials.SignedBy(o.SiteCertificate, authority)
}

// authority is the CA by which the server is to be verified; nil where there is none yet.
func (o Observed) authority(d Desired) []byte {
	switch {
	case d.given() != "":
		return o.UserCertificate[credentials.KeyCA]
	case o.Authority != nil:
		return o.Authority.PEM()
	}
	return nil
}

// trusted are the CAs that the server trusts, and those of its own certificates: the one of what it is to show, and
// those of what its engine shows until it has been started with that. shown says that the present certificate is the
// one that is to be shown.
func trusted(o Observed, authority []byte, shown bool) (trust, issuers []byte) {
	issuers = credentials.MergeCAs(authority)
	pod := o.Pod
	if !shown || pod == nil ||
		pod.Annotations[annotationCertificate] != hashOf(o.SiteCertificate[credentials.KeyCertificate]) {
		issuers = credentials.MergeCAs(
			issuers,
			credentials.IssuersOf(o.SiteCertificate),
			credentials.IssuersOf(o.HubCertificate),
		)
	}
	bundles := [][]byte{issuers}
	for _, partner := range o.Partners {
		if data, err := partner.Certificate.Get(); err == nil && data != nil {
			bundles = append(bundles, credentials.IssuersOf(data))
			continue
		}
		// What it shows is not known, also when the hub has lost its Secret: nothing that was trusted is dropped.
		bundles = append(bundles, credentials.TrustOf(o.SiteCertificate))
	}
	return credentials.MergeCAs(bundles...), issuers
}

// writeCertificate writes a certificate and what is trusted to site and hub, where they differ.
func writeCertificate(d Desired, o Observed, certificate map[string][]byte, authority []byte, p *reconcile.Plan) bool {
	shown := bytes.Equal(certificate[credentials.KeyCertificate], o.SiteCertificate[credentials.KeyCertificate]) &&
		credentials.SignedBy(certificate, authority)
	trust, issuers := trusted(o, authority, shown)
	data := map[string][]byte{
		credentials.KeyCertificate: certificate[credentials.KeyCertificate],
		credentials.KeyPrivateKey:  certificate[credentials.KeyPrivateKey],
		credentials.KeyCA:          trust, credentials.KeyIssuers: issuers,
	}
	step := CopyCertificate{
		Data:   data,
		Reason: "site and hub differ",
		Site:   d.differs(o.SiteCertificate, data, o.SiteIsHub),
		Hub:    d.differs(o.HubCertificate, data, true),
	}
	if !step.Site && !step.Hub {
		return true
	}
	if shown {
		step.Reason = "who is trusted has changed, or site and hub differ"
	}
	p.Add(step)
	if step.Site {
		refresh(o, p)
	}
	if why := credentials.ReaderLacks(o.Readers, trust); o.Readers != nil && why != "" {
		p.Add(CompleteReaders{CA: trust, Reason: why})
	}
	return p.Settle(inProgress("the certificate is being copied"))
}

// differs tells whether a Secret has not what it is to have. In one that is the user's own, the user's keys are left
// alone.
func (d Desired) differs(have, want map[string][]byte, hub bool) bool {
	if hub && d.userSecret(credentials.CertificateName(d.name())) {
		whole := credentials.MergeCAs(have[credentials.KeyCA], have[credentials.KeyTrust])
		return !credentials.HasCAs(have[credentials.KeyIssuers], want[credentials.KeyIssuers]) ||
			!credentials.HasCAs(want[credentials.KeyIssuers], have[credentials.KeyIssuers]) ||
			!credentials.HasCAs(whole, want[credentials.KeyCA]) ||
			!credentials.HasCAs(want[credentials.KeyCA], have[credentials.KeyTrust])
	}
	return !maps.EqualFunc(certificateKeys(have), want, bytes.Equal)
}

// refresh has the sidecar read the pod's Secrets now.
func refresh(o Observed, p *reconcile.Plan) {
	if o.Pod != nil && o.Pod.DeletionTimestamp == nil {
		p.Add(RefreshPod{Name: o.Pod.Name, Reason: "its certificate, or whom it trusts, changed"})
	}
}

// certificateKeys is the data without other people's keys.
func certificateKeys(data map[string][]byte) map[string][]byte {
	kept := map[string][]byte{}
	for _, key := range []string{credentials.KeyCertificate, credentials.KeyPrivateKey, credentials.KeyCA,
		credentials.KeyIssuers} {
		if v, ok := data[key]; ok {
			kept[key] = v
		}
	}
	return kept
}
