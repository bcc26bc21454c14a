"""Reads one partition of an export with pyarrow, while the files of all other partitions are away.

Arguments: folder of the data files, name of the day (dt), number of the hour (hour).
Prints the number of files that pyarrow reads, the number of rows, and a hash of all rows in the order of their ids.
"""
import hashlib
import json
import os
import sys

import pyarrow.dataset

folder, day, hour = sys.argv[1:]
partition = (pyarrow.dataset.field("dt") == day) & (pyarrow.dataset.field("hour") == int(hour))
table = pyarrow.dataset.dataset(folder, format="parquet", partitioning="hive")
asked = {fragment.path for fragment in table.get_fragments(filter=partition)}
others = [path for path in table.files if path not in asked]
for path in others:
    os.rename(path, path + ".away")
try:
    rows = table.to_table(columns=["_messageid", "_messagetime", "_raw"], filter=partition).to_pylist()
finally:
    for path in others:
        os.rename(path + ".away", path)

digest = hashlib.sha256()
for row in sorted(rows, key=lambda row: int(row["_messageid"])):
    time_ms = round(row["_messagetime"].timestamp() * 1000)
    digest.update(f"{row['_messageid']} {time_ms} {row['_raw']}\n".encode())
print(json.dumps({"files": len(asked), "rows": len(rows), "sha256": digest.hexdigest()}))
