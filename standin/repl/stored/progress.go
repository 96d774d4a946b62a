// SPDX-License-Identifier: Apache-2.0

package stored

// ProgressToken is MSsnapshotdeliveryprogress.session_token of a subscription.
func ProgressToken(publisher, db, publication string) string {
	return Clip(publisher+":"+db+":"+publication, 260)
}

// Clip shortens a name to n characters.
func Clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}
