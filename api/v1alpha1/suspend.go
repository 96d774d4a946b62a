// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// IsSuspended says that a person has suspended the Topology, and with it every object that it has.
func (t *Topology) IsSuspended() bool { return t.Spec.Suspend }

// IsSuspended says that a person has suspended the object.
func (s *SQLServer) IsSuspended() bool { return s.Spec.Suspend }

// IsSuspended says that a person has suspended the object.
func (g *AvailabilityGroup) IsSuspended() bool { return g.Spec.Suspend }

// IsSuspended says that a person has suspended the object.
func (d *Distributor) IsSuspended() bool { return d.Spec.Suspend }

// IsSuspended says that a person has suspended the object.
func (p *Publication) IsSuspended() bool { return p.Spec.Suspend }

// IsSuspended says that a person has suspended the object.
func (s *Subscription) IsSuspended() bool { return s.Spec.Suspend }

// IsSuspended says that a person has suspended the object.
func (l *Login) IsSuspended() bool { return l.Spec.Suspend }
