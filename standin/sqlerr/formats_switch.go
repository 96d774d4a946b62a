// SPDX-License-Identifier: Apache-2.0

package sqlerr

import "maps"

// switchFormats are messages of ALTER TABLE ... SWITCH.
var switchFormats = map[int32]string{
	4903: "Warning: ALTER TABLE SWITCH passed over partition %v: table '%v' has no partitions.",
	4904: "ALTER TABLE SWITCH failed: partition %v of the target table '%v' has rows. It has to be empty.",
	4905: "ALTER TABLE SWITCH failed: the target table '%v' has rows. It has to be empty.",
	4906: "'%v' failed: the %v '%v' is %v while its index '%v' is %v.",
	4907: "'%v' failed: the %v '%v' has %v partitions, its index '%v' %v.",
	4908: "'%v' failed: the %v '%v' and its index '%v' are partitioned by different boundary values.",
	4911: "ALTER TABLE SWITCH has to say which partition of table '%v', which is partitioned.",
	4912: "'%v' failed: the %v '%v' and its index '%v' are partitioned by different columns.",
	4913: "ALTER TABLE SWITCH failed: table '%v' has the clustered index '%v', table '%v' has none.",
	4914: "ALTER TABLE SWITCH failed: the clustered index of table \"%v\" is disabled.",
	4915: "'%v' failed: the %v '%v' and its index '%v' are partitioned by functions of different types.",
	4938: "ALTER TABLE SWITCH failed: partition %v of %v '%v' is in filegroup '%v', partition %v of %v '%v' in " +
		"filegroup '%v'.",
	4939: "ALTER TABLE SWITCH failed: %v '%v' is in filegroup '%v', partition %v of %v '%v' in filegroup '%v'.",
	4940: "ALTER TABLE SWITCH failed: %v '%v' is in filegroup '%v', %v '%v' in filegroup '%v'.",
	4942: "ALTER TABLE SWITCH failed: column '%v', number %v of table '%v', has another name than column '%v' at the " +
		"same place of table '%v'.",
	4943: "ALTER TABLE SWITCH failed: table '%v' has %v columns, table '%v' has %v.",
	4944: "ALTER TABLE SWITCH failed: column '%v' is of type %v in the source table '%v' and of type %v in the target " +
		"table '%v'.",
	4945: "ALTER TABLE SWITCH failed: column '%v' has different collations in tables '%v' and '%v'.",
	4946: "ALTER TABLE SWITCH failed: column '%v' is persisted in one of the tables '%v' and '%v' only.",
	4947: "ALTER TABLE SWITCH failed: the source table '%v' has no index that is identical to the index '%v' of the " +
		"target table '%v'.",
	4948: "ALTER TABLE SWITCH failed: the source table '%v' is in database '%v', the target table '%v' in database '%v'.",
	4949: "ALTER TABLE SWITCH failed: '%v' is no user table.",
	4950: "ALTER TABLE SWITCH failed: there is no partition %v of table '%v'.",
	4953: "ALTER TABLE SWITCH failed: tables '%v' and '%v' are partitioned by different columns.",
	4954: "ALTER TABLE SWITCH failed: table '%v' has %v as its limit of text in row, table '%v' has another one, %v.",
	4955: "ALTER TABLE SWITCH failed: the source table '%v' and the target table '%v' are the same.",
	4957: "'%v' failed: what gives the partition number of the %v '%v' is not of an integer type.",
	4958: "ALTER TABLE SWITCH failed: column '%v' is ROWGUIDCOL in one of the tables '%v' and '%v' only.",
	4959: "ALTER TABLE SWITCH failed: partition %v of %v '%v' has its large values in filegroup '%v', partition %v of " +
		"%v '%v' in filegroup '%v'.",
	4960: "ALTER TABLE SWITCH failed: check constraint '%v' of the source table '%v' is NOCHECK, its match '%v' of " +
		"the target table '%v' is CHECK.",
	4961: "ALTER TABLE SWITCH failed: column '%v' may be NULL in table '%v', not in table '%v'.",
	4965: "ALTER TABLE SWITCH failed: column '%v' is computed in table '%v', not in table '%v'.",
	4966: "ALTER TABLE SWITCH failed: column '%v' is computed as '%v' in table '%v', otherwise in table '%v', as '%v'.",
	4967: "ALTER TABLE SWITCH failed: the source table '%v' has the key that constraint '%v' refers to.",
	4968: "ALTER TABLE SWITCH failed: the target table '%v' has the foreign key '%v', for which the source table '%v' " +
		"has no match.",
	4969: "ALTER TABLE SWITCH failed: foreign key '%v' of the source table '%v' is disabled, its match '%v' of the " +
		"target table '%v' is not. Enable it.",
	4970: "ALTER TABLE SWITCH failed: the target table '%v' has the table check constraint '%v', for which the source " +
		"table '%v' has no match.",
	4971: "ALTER TABLE SWITCH failed: the target table '%v' has the column check constraint '%v', for which the " +
		"source table '%v' has no match.",
	4972: "ALTER TABLE SWITCH failed: check constraints or the partition function of the source table '%v' let in " +
		"values that those of the target table '%v' do not.",
	4973: "ALTER TABLE SWITCH failed: the range of partition %v of table '%v' is not within that of partition %v of " +
		"table '%v'.",
	4974: "ALTER TABLE SWITCH failed: foreign key '%v' of the source table '%v' is NOCHECK, its match '%v' of the " +
		"target table '%v' is CHECK. Have it checked.",
	4975: "ALTER TABLE SWITCH failed: check constraint '%v' of the source table '%v' and '%v' of the target table " +
		"'%v' differ in NOT FOR REPLICATION.",
	4978: "ALTER TABLE SWITCH failed: partition %v of table '%v' is in the read-only filegroup '%v'.",
	4979: "ALTER TABLE SWITCH failed: table '%v' is in the read-only filegroup '%v'.",
	4982: "ALTER TABLE SWITCH failed: check constraints of the source table '%v' let in values outside the range of " +
		"partition %v of the target table '%v'.",
	11406: "ALTER TABLE SWITCH failed: source and target differ in DATA_COMPRESSION.",
}

func init() {
	maps.Copy(formats, switchFormats)
	for n := range switchFormats {
		page, severity := eventsPage(4000, 4999), uint8(16)
		switch n {
		case 4903:
			severity = 10
		case 11406:
			page = eventsPage(11000, 12999)
		}
		notListed[n] = struct {
			severity uint8
			doc      string
		}{severity, page}
	}
}
