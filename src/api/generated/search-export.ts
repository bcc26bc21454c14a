/** Generated from crds/search-export.yaml by `make generate`. Edit that file instead. */

/** Settings that determine which rows the export finds, and where and how it writes them. */
export interface SearchExportSpec {
  /**
   * Secret, in the export's namespace, with the address and credentials of the log service. The Secret needs the keys
   * `baseURL` (https only), `accessId` and `accessKey`. Optional keys are `ca.crt` (the service's certificate
   * authority), `allowedHosts` (hosts to which the service may redirect) and `user` (service user that owns the access
   * id). The service limits the requests of each user. Therefore, if several Secrets have access ids of the same user,
   * set the same `user` in all of them. logfleet does not check whether the access id belongs to `user`. Therefore,
   * anyone who can create Secrets can use up part of any user's request limits. The optional keys `requestsPerSecond`
   * and `maxConcurrentRequests` (at least 2) lower the request limits. If Secrets of the same user set different
   * limits, logfleet finds the smallest limit in each namespace, and then applies the largest of these limits to the
   * user.
   */
  readonly credentialsSecretRef: {
    /** Name of the Secret with the address and credentials of the log service. */
    readonly name: string;
  };
  /**
   * Query in the log service's query language. If every step of the query processes each row on its own (`where`,
   * `parse`, `fields`, `json` and similar), logfleet splits the time range into several searches. The export can then
   * have any number of rows. Any other query, such as an aggregation, runs as a single search job. If this search job
   * finds more rows than the service can return, the export is incomplete.
   */
  readonly query: string;
  /**
   * Time range to export, from `from` (inclusive) to `to` (exclusive). A time is a local time in `timeZone`
   * (`2026-11-01T00:00:00`), a time with an offset (`2026-11-01T00:00:00+01:00`), or milliseconds since the epoch in
   * quotes (`"1793491200000"`). If `to` is in the future, the export searches each part of the range as soon as the
   * part is older than `settleDelay`.
   */
  readonly timeRange: TimeRangeSpec;
  /**
   * If true, the export selects messages by the time at which the log service received them (`_receipttime`). If false
   * (default), the export selects messages by their own time (`_messagetime`).
   */
  readonly byReceiptTime: boolean;
  /**
   * How searches treat JSON messages. `AutoParse` extracts the fields of the messages, so that the query can use these
   * fields. `Manual` (default) extracts no fields.
   */
  readonly autoParsingMode: 'Manual' | 'AutoParse';
  /**
   * `Messages` (default) exports the messages that the query finds. `Records` exports the rows of the query's
   * aggregation (`count by` and similar).
   */
  readonly results: 'Messages' | 'Records';
  /**
   * Whether the log service returns the raw text of each message (`_raw`). Aggregations run faster without the raw
   * text. Defaults to true if `results` is `Messages`, and to false if it is `Records`.
   */
  readonly requiresRawMessages?: boolean;
  /**
   * Maximum number of search jobs that the export runs at the same time, from 1 to 30 (default 4). An additional search
   * job may run to count rows. Fewer jobs run while other exports use part of the log service's request limits. The
   * pods of a Kubernetes Job share this maximum, but each pod can always run one search job. Can be changed while the
   * export is running.
   */
  readonly parallelism: number;
  /** Format, compression and folders of the exported files. */
  readonly output: OutputSpec;
  /**
   * Store or directory to which the export writes its files. Set exactly one field, such as `s3` or `volume`. Each
   * export writes to its own folder, whose path contains the export's namespace and name.
   */
  readonly destination: DestinationSpec;
  /** Whether the operator itself or a Kubernetes Job runs the export. */
  readonly execution: ExecutionSpec;
  /**
   * Limits on the rows that the export writes, and on the bytes that the log service scans. An export that reaches a
   * limit fails and starts no more searches. Its files are kept, and the export continues if the limit is raised.
   */
  readonly limits: LimitsSpec;
  /**
   * Maximum duration of the export in seconds. By default, there is no limit. If `execution.mode` is `Operator`, the
   * duration is counted from `status.startTime`, and includes pauses. If `execution.mode` is `Job`, it is counted from
   * the start of each Kubernetes Job, so the count restarts after a pause. An export that takes longer fails. Its files
   * are kept, and the export continues if the value is raised.
   */
  readonly activeDeadlineSeconds?: number;
  /**
   * What happens if a part of the time range cannot be proven complete, even after repeated searches. With `Fail`
   * (default), the export stalls, and its condition shows the expected and received numbers of rows. With `Keep`, the
   * received rows are written, and `status.incomplete` and the export manifest mark this part as incomplete. Rows from
   * a search with errors are never written.
   */
  readonly incompletePolicy: 'Fail' | 'Keep';
  /**
   * How logfleet proves that no row is missing. With `Digest` (default), the log service computes the number, sizes and
   * times of all messages in the time range once all searches have ended. To do so, the service scans the time range
   * once more. logfleet compares these figures with the written rows. If a part of the range differs, logfleet searches
   * this part again, up to three times. With `Count`, logfleet compares only the number of rows, usually with the
   * number that each search reports. Can be changed until the export manifest is written.
   */
  readonly proof: 'Digest' | 'Count';
  /**
   * Minimum age of a part of the time range before the export searches it, from `0s` to `24h` (default `3m`). Messages
   * can arrive late at the log service, so an earlier search could miss some of them.
   */
  readonly settleDelay: string;
  /**
   * If true, the export starts no further search jobs, but still reads the results of running search jobs. If
   * `execution.mode` is `Job`, logfleet deletes the Kubernetes Job. After the pause, another Job continues the export.
   * Setting the annotation `logfleet.dev/paused` to `true` has the same effect. Defaults to false.
   */
  readonly paused: boolean;
  /**
   * Time in seconds after which logfleet deletes a completed or failed SearchExport from the cluster. The exported
   * files are kept. Without a value, the SearchExport is never deleted.
   */
  readonly ttlSecondsAfterFinished?: number;
}

/**
 * Time range to export, from `from` (inclusive) to `to` (exclusive). A time is a local time in `timeZone`
 * (`2026-11-01T00:00:00`), a time with an offset (`2026-11-01T00:00:00+01:00`), or milliseconds since the epoch in
 * quotes (`"1793491200000"`). If `to` is in the future, the export searches each part of the range as soon as the part
 * is older than `settleDelay`.
 */
export interface TimeRangeSpec {
  /**
   * Start of the time range to export (inclusive), for example `2026-11-01T00:00:00`. If a local time occurs twice
   * because clocks are set back, the first occurrence is used. If a local time is skipped because clocks are set
   * forward, it is moved forward by the length of the clock change.
   */
  readonly from: string;
  /** End of the time range to export (exclusive), for example `2026-11-02T00:00:00`. */
  readonly to: string;
  /**
   * IANA time zone for local times in `from` and `to`, and for date functions in the query, for example
   * `Europe/Berlin`. Required if `from` or `to` is a local time. Defaults to `UTC` if both times have an offset or are
   * milliseconds.
   */
  readonly timeZone?: string;
}

/** Format, compression and folders of the exported files. */
export interface OutputSpec {
  /**
   * Format of the exported files. `NDJSON` (default) has one JSON object per line, exactly as the log service sent it,
   * unless `fields` is set. `CSV` has a header line and suits spreadsheets. `Parquet` has typed columns and suits
   * DuckDB, Spark or pandas.
   */
  readonly format: 'NDJSON' | 'CSV' | 'Parquet';
  /**
   * Compression of the exported files. `Gzip` (default) is supported everywhere, and `Zstd` is faster. `None` writes
   * uncompressed files. In Parquet files, the pages inside the file are compressed.
   */
  readonly compression: 'None' | 'Gzip' | 'Zstd';
  /**
   * Compression level of the exported files, from 1 to 9 for `Gzip` (default 5), and from 1 to 19 for `Zstd` (default
   * 3). Higher levels produce smaller files, but take more CPU time. Not allowed if `compression` is `None`.
   */
  readonly compressionLevel?: number;
  /**
   * Names of the fields to write for each row, in this order. A field can come from the log service (such as
   * `_messagetime` or `_raw`), or the query can create it. If the list is empty (default), all fields are written.
   */
  readonly fields: readonly string[];
  /**
   * Maximum size of an exported file after compression, in bytes, from `1Mi` to `32Gi` (default `256Mi`). When a file
   * reaches this size, the export starts another file. A file can be slightly larger, because rows are not split.
   */
  readonly maxPartSize: string;
  /**
   * Period for which data files get their own folder. `Day` writes to folders such as `data/dt=2026-11-01/`, and `Hour`
   * to folders such as `data/dt=2026-11-01/hour=13/`. DuckDB, Athena, Trino and Spark can then read only the days and
   * hours that they need. `None` (default) creates no such folders. A row's day and hour are those of its
   * `_messagetime` (or `_receipttime`, if `byReceiptTime` is true) in the export's time zone. An export has at most
   * 9,000 such folders.
   */
  readonly partitionBy: 'None' | 'Day' | 'Hour';
  /** Settings of CSV files. Allowed only if `format` is `CSV`. */
  readonly csv?: CsvSpec;
}

/** Settings of CSV files. Allowed only if `format` is `CSV`. */
export interface CsvSpec {
  /**
   * Whether logfleet writes an apostrophe before a cell that a spreadsheet would evaluate as a formula. Such a cell
   * begins with `=`, `+`, `-` or `@`, and is not a number. The apostrophe protects only if the spreadsheet program
   * splits lines at commas, not if the program splits them at semicolons. Set `formulaGuard` to false only if the files
   * are never opened in a spreadsheet. Defaults to true.
   */
  readonly formulaGuard: boolean;
}

/**
 * Store or directory to which the export writes its files. Set exactly one field, such as `s3` or `volume`. Each export
 * writes to its own folder, whose path contains the export's namespace and name.
 */
export interface DestinationSpec {
  /**
   * Directory that the operator's flag `--volume NAME=DIR` makes available to exports, usually a mounted
   * PersistentVolumeClaim. Not allowed if `execution.mode` is `Job`.
   */
  readonly volume?: VolumeSpec;
  /** Bucket, in Amazon S3 or an S3-compatible store, to which the export writes its files. */
  readonly s3?: S3Spec;
  /**
   * Azure Blob Storage container to which the export writes its files. Set either `account` (name of the storage
   * account) or `endpoint` (its address).
   */
  readonly azureBlob?: AzureBlobSpec;
  /** Google Cloud Storage bucket to which the export writes its files. */
  readonly gcs?: GcsSpec;
  /**
   * PersistentVolumeClaim, in the export's namespace, to which the export writes its files. Allowed only if
   * `execution.mode` is `Job`, because only the pods of a Kubernetes Job can mount the PersistentVolumeClaim.
   */
  readonly persistentVolumeClaim?: ClaimSpec;
}

/**
 * Directory that the operator's flag `--volume NAME=DIR` makes available to exports, usually a mounted
 * PersistentVolumeClaim. Not allowed if `execution.mode` is `Job`.
 */
export interface VolumeSpec {
  /** Name of the volume: `NAME` in the operator's option `--volume NAME=DIR`. */
  readonly name: string;
  /**
   * Folder in the volume, for example `audit/2026`. The export then writes below `<namespace>/audit/2026/`. Without
   * `path`, it writes below `<namespace>/`. The folder is created if it does not exist.
   */
  readonly path?: string;
}

/** Bucket, in Amazon S3 or an S3-compatible store, to which the export writes its files. */
export interface S3Spec {
  /** Name of the S3 bucket. The bucket must exist. */
  readonly bucket: string;
  /**
   * Prefix for all object names in the bucket, for example `audit/2026`. The export then writes below
   * `audit/2026/<namespace>/`. Without `prefix`, it writes below `<namespace>/`.
   */
  readonly prefix?: string;
  /** Region of the S3 bucket. Defaults to `us-east-1`, which S3-compatible stores without regions accept. */
  readonly region?: string;
  /** Address of the S3-compatible store, for example `https://store.example.com`. Defaults to Amazon S3. */
  readonly endpoint?: string;
  /**
   * Whether the S3 bucket name is part of the URL path instead of the hostname. Many S3-compatible stores require this.
   * Defaults to false.
   */
  readonly forcePathStyle: boolean;
  /**
   * Secret, in the export's namespace, with the store's credentials. The Secret needs the keys `accessKeyId` and
   * `secretAccessKey`. The key `sessionToken` is optional. Without a Secret, the export uses its pod's identity (if
   * `execution.mode` is `Job`) or the operator's own credentials. Exports may use the operator's own credentials only
   * if the operator runs with `--allow-ambient-credentials`.
   */
  readonly credentialsSecretRef?: {
    /** Name of the Secret with the store's credentials. */
    readonly name: string;
  };
  /** Server-side encryption of the exported objects in S3. Defaults to the bucket's setting. */
  readonly serverSideEncryption?: ServerSideEncryptionSpec;
  /**
   * S3 storage class of the data files, for example `STANDARD_IA`. Defaults to the bucket's setting. The export
   * manifest and other small objects always use the bucket's setting, because logfleet must be able to read them
   * immediately.
   */
  readonly storageClass?: string;
  /**
   * S3 object lock, which protects each object of the export from modification and deletion for a number of days after
   * its upload. Object lock must be enabled for the bucket.
   */
  readonly objectLock?: ObjectLockSpec;
  /**
   * If true, `endpoint` may be an unencrypted `http://` address. Anyone on the network path can then read the exported
   * rows and use the credentials. Defaults to false.
   */
  readonly insecure: boolean;
}

/** Server-side encryption of the exported objects in S3. Defaults to the bucket's setting. */
export interface ServerSideEncryptionSpec {
  /**
   * Algorithm for server-side encryption in S3. `AES256` uses the store's own keys, `aws:kms` uses a key from the key
   * management service (KMS), and `aws:kms:dsse` encrypts twice with a KMS key.
   */
  readonly type: 'AES256' | 'aws:kms' | 'aws:kms:dsse';
  /**
   * Id, alias or ARN of the encryption key in the key management service (KMS). Defaults to the account's default key.
   * Not allowed if `type` is `AES256`.
   */
  readonly kmsKeyID?: string;
}

/**
 * S3 object lock, which protects each object of the export from modification and deletion for a number of days after
 * its upload. Object lock must be enabled for the bucket.
 */
export interface ObjectLockSpec {
  /**
   * Mode of the S3 object lock. With `Governance`, users with the permission `s3:BypassGovernanceRetention` can delete
   * locked objects. With `Compliance`, no user can delete them before the lock ends.
   */
  readonly mode: 'Governance' | 'Compliance';
  /** Number of days, from 1 to 36500, for which the S3 object lock protects each object after its upload. */
  readonly retainUntilDays: number;
}

/**
 * Azure Blob Storage container to which the export writes its files. Set either `account` (name of the storage account)
 * or `endpoint` (its address).
 */
export interface AzureBlobSpec {
  /**
   * Name of the Azure storage account whose address is `https://ACCOUNT.blob.core.windows.net`. For any other address,
   * set `endpoint` instead.
   */
  readonly account?: string;
  /**
   * Address of the Azure storage account, for example `https://examplelogs.blob.core.usgovcloudapi.net`. Set `endpoint`
   * instead of `account` if the address is not `https://ACCOUNT.blob.core.windows.net`. The server at this address
   * receives the credentials. Therefore, if the address is outside Azure, the Secret in `credentialsSecretRef` must
   * contain the same address, either in the key `endpoint` or as the `BlobEndpoint` of the connection string. A Secret
   * with an account key does not need this address, because logfleet never sends account keys.
   */
  readonly endpoint?: string;
  /** Name of the Azure Blob Storage container. The container must exist. */
  readonly container: string;
  /**
   * Prefix for all blob names in the container, for example `audit/2026`. The export then writes below
   * `audit/2026/<namespace>/`. Without `prefix`, it writes below `<namespace>/`.
   */
  readonly prefix?: string;
  /**
   * Secret, in the export's namespace, with the storage account's credentials. The Secret needs one of these: both
   * `accountName` and `accountKey`; `sasToken`; `connectionString`. Without a Secret, the export uses its pod's
   * identity (if `execution.mode` is `Job`) or the operator's own credentials. Exports may use the operator's own
   * credentials only if the operator runs with `--allow-ambient-credentials`.
   */
  readonly credentialsSecretRef?: {
    /** Name of the Secret with the storage account's credentials. */
    readonly name: string;
  };
  /**
   * If true, `endpoint` may be an unencrypted `http://` address. Anyone on the network path can then read the exported
   * rows and use the credentials. Defaults to false.
   */
  readonly insecure: boolean;
}

/** Google Cloud Storage bucket to which the export writes its files. */
export interface GcsSpec {
  /** Name of the Google Cloud Storage bucket. The bucket must exist. */
  readonly bucket: string;
  /**
   * Prefix for all object names in the bucket, for example `audit/2026`. The export then writes below
   * `audit/2026/<namespace>/`. Without `prefix`, it writes below `<namespace>/`.
   */
  readonly prefix?: string;
  /**
   * Address of Google Cloud Storage, for example `https://storage-logs.p.googleapis.com` for a private endpoint.
   * Defaults to `https://storage.googleapis.com`. The server at this address receives an access token from logfleet.
   * Therefore, if the address is outside `*.googleapis.com`, the Secret in `credentialsSecretRef` must contain the same
   * address in the key `endpoint`.
   */
  readonly endpoint?: string;
  /**
   * Secret, in the export's namespace, with the key of a service account that may write to the bucket. The Secret needs
   * the key `serviceAccountKey`, whose value is the content of the service account's JSON key file. Without a Secret,
   * the export uses its pod's identity (if `execution.mode` is `Job`) or the operator's own credentials. Exports may
   * use the operator's own credentials only if the operator runs with `--allow-ambient-credentials`.
   */
  readonly credentialsSecretRef?: {
    /** Name of the Secret with the key of the service account. */
    readonly name: string;
  };
  /**
   * If true, `endpoint` may be an unencrypted `http://` address. Anyone on the network path can then read the exported
   * rows and use the credentials. Defaults to false.
   */
  readonly insecure: boolean;
}

/**
 * PersistentVolumeClaim, in the export's namespace, to which the export writes its files. Allowed only if
 * `execution.mode` is `Job`, because only the pods of a Kubernetes Job can mount the PersistentVolumeClaim.
 */
export interface ClaimSpec {
  /** Name of the PersistentVolumeClaim to which the export writes its files. */
  readonly claimName: string;
  /**
   * Folder in the PersistentVolumeClaim, for example `logs`. The export then writes below `<namespace>/logs/`. Without
   * `path`, it writes below `<namespace>/`.
   */
  readonly path?: string;
}

/** Whether the operator itself or a Kubernetes Job runs the export. */
export interface ExecutionSpec {
  /**
   * `Operator` (default): the operator itself runs the export. `Job`: a Kubernetes Job in the export's namespace runs
   * the export. For `Job`, install the operator with the component `manifests/export-jobs`. The mode of an existing
   * export cannot be changed.
   */
  readonly mode: 'Operator' | 'Job';
  /**
   * Settings of the Kubernetes Job that runs the export. After a change to these settings, a new Job replaces the
   * running Job and continues the export. Finished files are kept. Allowed only if `mode` is `Job`.
   */
  readonly job?: ExportJobSpec;
}

/**
 * Settings of the Kubernetes Job that runs the export. After a change to these settings, a new Job replaces the running
 * Job and continues the export. Finished files are kept. Allowed only if `mode` is `Job`.
 */
export interface ExportJobSpec {
  /**
   * Maximum number of pods that export different parts of the time range at the same time (default 1). Each pod needs a
   * share of the request limits of the export's log service user. A user has at most three shares, so at most three
   * pods run, even if `workers` is 4. If fewer shares are free, fewer pods run. An export with `limits.maxMessages`, or
   * with a query that cannot be split by time, runs in one pod.
   */
  readonly workers: number;
  /**
   * ServiceAccount of the export's pods, for example one whose workload identity may write to the destination. The
   * ServiceAccount must have the label `logfleet.dev/export-worker` with the value `true`, so that exports cannot use
   * other identities in the namespace. Without `serviceAccountName`, the pods use the ServiceAccount `default`, which
   * needs no label.
   */
  readonly serviceAccountName?: string;
  /**
   * Additional settings for the export's pods, such as labels, annotations, node selection, resources and image pull
   * Secrets.
   */
  readonly template?: ExportPodTemplate;
  /**
   * Maximum number of times that Kubernetes replaces a failed pod of the export, from 0 to 100. Defaults to 6. Evicted
   * pods do not count. If the last replacement also fails, the export stalls. If a pod fails because of a problem that
   * a person must fix, such as an invalid query, the export stalls immediately.
   */
  readonly backoffLimitPerIndex: number;
  /**
   * Time in seconds after which Kubernetes deletes the export's finished Job, including its pods and their logs.
   * Defaults to 3600 (one hour).
   */
  readonly ttlSecondsAfterFinished: number;
}

/**
 * Additional settings for the export's pods, such as labels, annotations, node selection, resources and image pull
 * Secrets.
 */
export interface ExportPodTemplate {
  /** Labels and annotations to add to the export's Kubernetes Job and its pods. */
  readonly metadata?: ExportPodMetadata;
  /** Node selection, resources, priority and image pull Secrets for the export's pods. */
  readonly spec?: ExportPodSpec;
}

/** Labels and annotations to add to the export's Kubernetes Job and its pods. */
export interface ExportPodMetadata {
  /**
   * Labels to add to the export's Kubernetes Job and its pods, for example the name of a Kueue queue. Labels that
   * logfleet sets take precedence.
   */
  readonly labels?: {
    readonly [k: string]: string;
  };
  /** Annotations to add to the export's Kubernetes Job and its pods. Annotations that logfleet sets take precedence. */
  readonly annotations?: {
    readonly [k: string]: string;
  };
}

/** Node selection, resources, priority and image pull Secrets for the export's pods. */
export interface ExportPodSpec {
  /** Labels that a node must have for the export's pods to run on it. */
  readonly nodeSelector?: {
    readonly [k: string]: string;
  };
  /** Tolerations of the export's pods. The pods can run on a tainted node if the tolerations match its taints. */
  readonly tolerations?: readonly ExportPodToleration[];
  /**
   * Affinity rules for the export's pods, in the format of a pod spec. The rules decide which nodes the pods run on,
   * and which other pods they run near. Kubernetes checks the rules when the Job is created.
   */
  readonly affinity?: ExportPodAffinity;
  /**
   * CPU and memory for the container in each pod of the export. Without `resources`, the container requests one CPU and
   * 512Mi of memory, and its memory limit is 1Gi.
   */
  readonly resources?: ExportPodResources;
  /** Name of the PriorityClass of the export's pods. */
  readonly priorityClassName?: string;
  /** Image pull Secrets, in the export's namespace, for the container image of the export's pods. */
  readonly imagePullSecrets?: readonly ImagePullSecret[];
}

/** One toleration of the export's pods, as in a pod spec. */
export interface ExportPodToleration {
  /**
   * Key of the node taint that the export's pods tolerate. Without `key`, the pods tolerate taints with any key, and
   * `operator` must be `Exists`.
   */
  readonly key?: string;
  /**
   * How the toleration matches a node taint with the same key. With `Equal` (default), the values must be equal. With
   * `Exists`, any value matches.
   */
  readonly operator?: 'Exists' | 'Equal';
  /** Value of the node taint that the export's pods tolerate. Used only if `operator` is `Equal`. */
  readonly value?: string;
  /**
   * Effect of the node taint that the export's pods tolerate. Without `effect`, the pods tolerate taints with any
   * effect.
   */
  readonly effect?: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
  /**
   * Time in seconds for which a running pod of the export tolerates a node taint with the effect `NoExecute`. Without a
   * value, the pod tolerates the taint forever.
   */
  readonly tolerationSeconds?: number;
}

/**
 * Affinity rules for the export's pods, in the format of a pod spec. The rules decide which nodes the pods run on, and
 * which other pods they run near. Kubernetes checks the rules when the Job is created.
 */
export interface ExportPodAffinity {
  /** Rules about the nodes that the export's pods must or should run on, in the format of a pod spec. */
  readonly nodeAffinity?: {
    readonly [k: string]: unknown;
  };
  /** Rules about other pods that the export's pods must or should run near, in the format of a pod spec. */
  readonly podAffinity?: {
    readonly [k: string]: unknown;
  };
  /**
   * Rules about other pods, such as pods of the same export, that the export's pods must not or should not run near.
   * The rules have the format of a pod spec.
   */
  readonly podAntiAffinity?: {
    readonly [k: string]: unknown;
  };
}

/**
 * CPU and memory for the container in each pod of the export. Without `resources`, the container requests one CPU and
 * 512Mi of memory, and its memory limit is 1Gi.
 */
export interface ExportPodResources {
  /** Resource requests of the container in each pod of the export, such as `2` for `cpu` or `1Gi` for `memory`. */
  readonly requests?: {
    readonly [k: string]: number | string;
  };
  /**
   * Maximum amount of each resource that the container in each pod of the export may use, such as `2Gi` for `memory`.
   */
  readonly limits?: {
    readonly [k: string]: number | string;
  };
}

/** One image pull Secret for the container image of the export's pods. */
export interface ImagePullSecret {
  /** Name of the image pull Secret for the container image of the export's pods. */
  readonly name: string;
}

/**
 * Limits on the rows that the export writes, and on the bytes that the log service scans. An export that reaches a
 * limit fails and starts no more searches. Its files are kept, and the export continues if the limit is raised.
 */
export interface LimitsSpec {
  /**
   * Maximum number of rows to export. By default, there is no limit. Once the limit is reached, no more searches start.
   * If the time range needs more searches, the export fails. The results of running searches are still read to the end,
   * so the export can exceed the limit.
   */
  readonly maxMessages?: number;
  /**
   * Maximum number of bytes that the log service scans for the export, from `1Mi` to `1Pi`. By default, there is no
   * limit. Bytes scanned before the export was restarted are included. Has an effect only if the service reports
   * scanned bytes.
   */
  readonly maxBytesScanned?: string;
}

/**
 * Observed state of the export, written only by logfleet. After a restart, logfleet derives the remaining work from the
 * files at the destination, not from this status.
 */
export interface SearchExportStatus {
  /**
   * Value of the export's `metadata.generation` that this status describes. If it is lower than the current
   * `metadata.generation`, logfleet has not yet processed the latest change to the spec.
   */
  readonly observedGeneration?: number;
  /**
   * Time at which the current outage began. During an outage, something that the export needs is not working; for
   * example, the log service does not respond. Absent if there is no outage. If the outage lasts ten minutes, the
   * condition `Outage` becomes `True`.
   */
  readonly outageStartTime?: string;
  /**
   * Hash of the state that the `Ready` condition showed before the current interruption. An interruption is a pause, an
   * outage, or a return from `IntervalIncomplete` to `Exporting`. If the export returns to the same state after the
   * interruption, logfleet does not repeat the notification. Absent if there is no interruption.
   */
  readonly interruptedState?: string;
  /**
   * Operators (installations of logfleet) that manage this resource. Only the operator with the earliest `since` acts;
   * the others wait. Having more than one operator is a configuration error, which the condition `OtherOperator`
   * reports.
   */
  readonly operators?: readonly OperatorEntry[];
  /**
   * Last value of the annotation `logfleet.dev/requestedAt` that logfleet has processed. A longer value is truncated to
   * 256 characters. If the annotation gets a new value, logfleet checks the export again. `lastHandledReconcileAt` is
   * set to this value when the check has ended. With `execution.mode: Job`, the check ends when the export's new Job
   * has ended.
   */
  readonly lastHandledReconcileAt?: string;
  /** Short texts about the export for the columns of `kubectl get`. */
  readonly summary?: SummaryStatus;
  /**
   * Time at which the export started. If the export starts again because its export manifest was removed, this field
   * shows the time of the new start. With `execution.mode: Job`, an export that has ended also starts again if a person
   * requests a check. If `spec.execution.mode` is `Operator`, `spec.activeDeadlineSeconds` is counted from this time.
   */
  readonly startTime?: string;
  /**
   * Time at which the export completed or failed. Absent while the export has not ended. `spec.ttlSecondsAfterFinished`
   * is counted from this time.
   */
  readonly completionTime?: string;
  /**
   * Estimated time at which the export will complete. It is computed from the speed over the last ten minutes and, if
   * `spec.proof` is `Digest`, from the expected duration of the digest. Absent if there is no estimate, if the export
   * will complete within seconds, or if it is waiting for a person.
   */
  readonly estimatedCompletionTime?: string;
  /** Time range that is exported (`spec.timeRange`), converted to UTC. */
  readonly timeRange?: TimeRangeStatus;
  /**
   * Hash (SHA-256, in hexadecimal digits) of all settings that determine the content of the files. This hash is the
   * name of the export's folder at the destination, so exports with different queries never share a folder.
   */
  readonly fingerprint?: string;
  /** URL of the folder with the export's files. */
  readonly location?: string;
  /** Progress of the export: how much of it is finished, rows, bytes and speed. */
  readonly progress?: ProgressStatus;
  /** Kubernetes Job that runs the export. Absent unless `spec.execution.mode` is `Job`. */
  readonly kubernetesJob?: KubernetesJobStatus;
  /**
   * Running pods of the export's Kubernetes Job. Each pod writes its own item, if its ServiceAccount has permission to
   * do so. Each item shows the export's progress as far as the pod knows it, and the failure that blocks the pod, if
   * any.
   */
  readonly workers?: readonly WorkerStatus[];
  /** The export's search jobs that are running at the log service. */
  readonly jobs?: readonly SearchJobStatus[];
  /**
   * Histogram of the written rows: the time range is divided into 60 equal parts, and each item is the number of rows
   * in one part, in chronological order. `-1` means that no data from this part has been exported yet. Empty until rows
   * are written.
   */
  readonly rowHistogram?: readonly number[];
  /** Latest intervals (parts of the time range) that could not be proven complete, newest first. */
  readonly incomplete?: readonly IncompleteInterval[];
  /** Latest errors from the export's searches, newest first. */
  readonly pendingErrors?: readonly string[];
  /** Latest warnings that the log service reported for the export's search jobs, newest first. */
  readonly pendingWarnings?: readonly string[];
  /**
   * Export manifest: the file that lists every data file with its number of rows and its SHA-256. Absent until the
   * whole time range is exported. `logfleet verify URL` compares the files with the export manifest.
   */
  readonly manifest?: ManifestStatus;
  /**
   * Conditions of the export. `Ready`, `Reconciling` and `Stalled` follow the kstatus convention, which Flux and Argo
   * CD read. `Complete` and `Failed` work like those of a Kubernetes Job. `Outage` and `OtherOperator` report problems.
   * The message of `Ready` explains the current state.
   */
  readonly conditions?: readonly Condition[];
}

/** One operator (installation of logfleet) that manages this resource. */
export interface OperatorEntry {
  /** Name of the operator. This is the namespace of its leader election Lease. */
  readonly name: string;
  /**
   * Time at which the operator started to manage this resource. If several operators manage it, the operator with the
   * earliest time acts, and the others wait. If two operators manage the same resources, each operator writes its
   * earliest time into all these resources, so that one operator acts on all of them.
   */
  readonly since: string;
  /**
   * Timestamp with which the operators of a resource check whether the other operators are still running. For this
   * check, an operator writes a newer time into the field `seen` of its own entry. Every other operator responds by
   * copying this time into its own entry. If an operator does not respond within a minute, its entry is removed.
   */
  readonly seen: string;
}

/** Short texts about the export for the columns of `kubectl get`. */
export interface SummaryStatus {
  /** State of the export in one word: the reason of its `Ready` condition, for example `Exporting`. */
  readonly state?: string;
  /** Finished share of the export, for example `42%` (`status.progress.coveredPercent`). */
  readonly progress?: string;
  /** Number of rows in the exported files, for example `1.2M`. */
  readonly rows?: string;
}

/** Time range that is exported (`spec.timeRange`), converted to UTC. */
export interface TimeRangeStatus {
  /** Start of the exported time range (inclusive), in UTC. */
  readonly startTime: string;
  /** End of the exported time range (exclusive), in UTC. */
  readonly endTime: string;
}

/** Progress of the export: how much of it is finished, rows, bytes and speed. */
export interface ProgressStatus {
  /**
   * Finished share of the export in percent, from 0 to 100, rounded down. It is `100` only when the whole time range is
   * exported, and its completeness is proven as `spec.proof` requires. Each planned search counts equally, regardless
   * of the length of its time range and the number of rows that it finds. The percentage of exported rows can therefore
   * be different.
   */
  readonly coveredPercent: number;
  /**
   * Number of intervals (parts of the time range), each of which is searched separately. If an interval has more rows
   * than a search can return, it is divided further, and this number increases.
   */
  readonly intervalsPlanned: number;
  /** Number of intervals (parts of the time range) whose rows are written to files and proven complete. */
  readonly intervalsDone: number;
  /**
   * Number of intervals (parts of the time range) whose rows are written, but not proven complete
   * (`spec.incompletePolicy` is `Keep`). Absent if there are none.
   */
  readonly intervalsIncomplete?: number;
  /** Number of rows that the export has written to files. */
  readonly rowsWritten: number;
  /** Total size of the exported files after compression, in bytes. */
  readonly bytesWritten: number;
  /**
   * Number of bytes that the log service has scanned for this export. Absent if the service does not report scanned
   * bytes.
   */
  readonly bytesScanned?: number;
  /**
   * Number of duplicate rows that the log service returned. Duplicate rows are not written, so each row is in the files
   * only once.
   */
  readonly duplicatesDropped: number;
  /** Rows written per second, averaged over the last minute. Absent if no rows were written in that minute. */
  readonly rowsPerSecond?: number;
  /**
   * Bytes of row data received per second, averaged over the last minute. Absent if no rows were received in that
   * minute.
   */
  readonly bytesPerSecond?: number;
}

/** Kubernetes Job that runs the export. Absent unless `spec.execution.mode` is `Job`. */
export interface KubernetesJobStatus {
  /** Name of the Kubernetes Job that runs the export, for use in `kubectl logs job/NAME`. */
  readonly name: string;
  /** Number of failed pods of the export's Kubernetes Job. */
  readonly failedPods?: number;
  /** Time at which the operator noticed that the Kubernetes Job had ended. Absent while it runs. */
  readonly endTime?: string;
}

/**
 * Running pod of the export's Kubernetes Job. The fields show how much of the whole export is complete, as far as the
 * pod knows, and the failure that blocks the pod, if any.
 */
export interface WorkerStatus {
  /** Index of the pod in the Kubernetes Job, starting at 0 (`JOB_COMPLETION_INDEX`). */
  readonly index: number;
  /** Name of the pod's Kubernetes Job. */
  readonly job: string;
  /** Progress of the export: how much of it is finished, rows, bytes and speed. */
  readonly progress?: ProgressStatus;
  /**
   * Failure that blocks the pod, such as a full destination. The pod retries until it succeeds. Absent while no failure
   * blocks the pod.
   */
  readonly obstacle?: WorkerObstacle;
}

/**
 * Failure that blocks the pod, such as a full destination. The pod retries until it succeeds. Absent while no failure
 * blocks the pod.
 */
export interface WorkerObstacle {
  /** Reason for the failure: one of the reasons of the `Ready` condition, for example `DestinationFull`. */
  readonly reason: string;
  /** Message about the failure. */
  readonly message: string;
  /** Time at which the pod first noticed the failure that `message` describes. */
  readonly startTime: string;
}

/** One running search job with the time range that it searches. */
export interface SearchJobStatus {
  /** Id of the search job at the log service. */
  readonly id: string;
  /** Start of the time range of this search job (inclusive), which is a part of the export's time range. */
  readonly from: string;
  /** End of the time range of this search job (exclusive), which is a part of the export's time range. */
  readonly to: string;
  /** State of the search job at the log service, for example `GATHERING RESULTS`. */
  readonly state: string;
  /** Number of messages that the search job has found so far. */
  readonly messageCount?: number;
  /** Number of records (rows of an aggregation) that the search job has produced so far. */
  readonly recordCount?: number;
}

/** One interval (part of the time range) that could not be proven complete, with its row counts. */
export interface IncompleteInterval {
  /** Start of the incomplete interval (inclusive). */
  readonly from: string;
  /** End of the incomplete interval (exclusive). */
  readonly to: string;
  /** Reason why the interval is not proven complete, as a sentence or a single word such as `DigestDiffers`. */
  readonly reason: string;
  /** Number of rows that the log service returned for the incomplete interval. */
  readonly received?: number;
  /**
   * Number of rows that the incomplete interval should have, according to a count by the log service. Absent if
   * unknown.
   */
  readonly expected?: number;
}

/**
 * Export manifest: the file that lists every data file with its number of rows and its SHA-256. Absent until the whole
 * time range is exported. `logfleet verify URL` compares the files with the export manifest.
 */
export interface ManifestStatus {
  /** URL of the export manifest, the file that lists all data files of the export. */
  readonly url: string;
  /** Checksum (SHA-256) of the export manifest itself, in hexadecimal digits. */
  readonly sha256: string;
  /** Number of rows in all data files of the export. */
  readonly rows: number;
  /** Number of data files of the export. */
  readonly files: number;
  /** Total size of the data files of the export after compression, in bytes. */
  readonly bytes: number;
  /**
   * True if every interval (part of the time range) is proven complete. False if the export kept an incomplete interval
   * (`spec.incompletePolicy` is `Keep`).
   */
  readonly complete: boolean;
  /**
   * Lowest proof level among all parts of the exported time range. `Digest` means that the number, sizes and times of
   * the messages match an aggregation by the log service. `Count` means that the number of messages matches an
   * aggregation. `Search` means that the number of rows matches the number that the search reported. `None` means that
   * a part of the range is marked as incomplete.
   */
  readonly proof?: 'Digest' | 'Count' | 'Search' | 'None';
}

/** One condition of the export. */
export interface Condition {
  /** Type of the condition, for example `Ready`. */
  readonly type: string;
  /** Status of the condition: `True`, `False` or `Unknown`. */
  readonly status: 'True' | 'False' | 'Unknown';
  /** Generation (`metadata.generation`) of the export to which this condition applies. */
  readonly observedGeneration?: number;
  /** Time at which the status of this condition last changed. */
  readonly lastTransitionTime: string;
  /** Reason for the status of this condition, as one machine-readable CamelCase word. */
  readonly reason: string;
  /** Human-readable explanation of the condition's status, including any problem and how to solve it. */
  readonly message: string;
}
