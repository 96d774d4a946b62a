// SPDX-License-Identifier: Apache-2.0

package sqlerr

import "maps"

// partitionFormats are messages of partition functions, partition schemes and partitioned tables.
var partitionFormats = map[int32]string{
	1707: "Cannot specify TEXTIMAGE_ON filegroup for a partitioned table.",
	1908: "Column '%v' is partitioning column of the index '%v'. Partition columns for a unique index must be a subset " +
		"of the index key.",
	2726: "Partition function '%v' uses %v columns which does not match with the number of partition columns used to " +
		"partition the table or index.",
	3756: "TRUNCATE TABLE statement failed. Index '%v' is not partitioned, but table '%v' uses partition function " +
		"'%v'. Index and table must use an equivalent partition function.",
	7702: "Empty Partition function type-parameter-list is not allowed when defining a partition function.",
	7704: "The type '%v' is not valid for this operation.",
	7705: "Could not implicitly convert range values type specified at ordinal %v to partition function parameter type.",
	7706: "Partition function '%v' is being used by one or more partition schemes.",
	7707: "The associated partition function '%v' generates more partitions than there are file groups mentioned in " +
		"the scheme '%v'.",
	7708: "Duplicate range boundary values are not allowed in partition function boundary values list. Partition " +
		"boundary values at ordinal %v and %v are equal.",
	7709: "Warning: Range value list for partition function '%v' is not sorted by value. Mapping of partitions to " +
		"filegroups during CREATE PARTITION SCHEME will use the sorted boundary values if the function '%v' is referenced " +
		"in CREATE PARTITION SCHEME.",
	7710: "Warning: The partition scheme '%v' does not have any next used filegroup. Partition scheme has not " +
		"been changed.",
	7711: "The %v option was specified more than once for the table, or for at least one of its partitions if the " +
		"table is partitioned.",
	7712: "Partition scheme '%v' has been created successfully. '%v' is marked as the next used filegroup in partition " +
		"scheme '%v'.",
	7713: "%v filegroups specified after the next used filegroup are ignored.",
	7714: "Partition range value is missing.",
	7715: "The specified partition range value could not be found.",
	7716: "Can not create or alter a partition function to have zero partitions.",
	7717: "The partition scheme \"%v\" is currently being used to partition one or more tables.",
	7719: "CREATE/ALTER partition function failed as only a maximum of %v partitions can be created.",
	7720: "Data truncated when converting range values to the partition function parameter type. The range value at " +
		"ordinal %v requires data truncation.",
	7721: "Duplicate range boundary values are not allowed in partition function boundary values list. The boundary " +
		"value being added is already present at ordinal %v of the boundary value list.",
	7722: "Invalid partition number %v specified for %v '%v', partition number can range from 1 to %v.",
	7723: "Only a single filegroup can be specified while creating partition scheme using option ALL to specify all " +
		"the filegroups.",
	7724: "Computed column cannot be used as a partition key if it is not persisted. Partition key column '%v' in " +
		"table '%v' is not persisted.",
	7726: "Partition column '%v' has data type %v which is different from the partition function '%v' parameter " +
		"data type %v.",
	7727: "Collation of partition column '%v' does not match collation of corresponding parameter in partition " +
		"function '%v'.",
	7728: "Invalid partition range: %v TO %v. Lower bound must not be greater than upper bound.",
}

func init() {
	maps.Copy(formats, partitionFormats)
	for n := range partitionFormats {
		page, severity := eventsPage(7000, 7999), uint8(16)
		switch n {
		case 1707:
			page = eventsPage(1000, 1999)
		case 1908:
			continue // the catalog lists it
		case 2726:
			page = eventsPage(2000, 2999)
		case 3756:
			page = eventsPage(3000, 3999)
		case 7709, 7710, 7712, 7713:
			severity = 10
		}
		notListed[n] = struct {
			severity uint8
			doc      string
		}{severity, page}
	}
}
