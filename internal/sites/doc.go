// SPDX-License-Identifier: Apache-2.0

// Package sites reaches the member clusters. A Site object of the hub becomes an engaged cluster of the
// multicluster-runtime manager, each in a goroutine of its own: a site that is dead, slow or misconfigured holds up
// nothing but itself. Controllers ask for a Member; when the site has not answered for a while they get an
// UnreachableError and must report Unknown, since informers go on serving what they last saw.
package sites
