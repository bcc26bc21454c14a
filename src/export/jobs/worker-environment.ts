/** Names of the environment variables and folders through which the operator passes an export to a worker pod. */

/** Environment variables of a worker pod. */
export const workerVariables = {
  /** File to which the worker writes its report. If this variable is set, `logfleet export` runs as a worker. */
  report: 'LOGFLEET_WORKER_REPORT',
  /**
   * Folder with the export's Secrets. It has a subfolder for each Secret, and each subfolder has a file for each key.
   */
  secrets: 'LOGFLEET_WORKER_SECRETS',
  /** User of the log service. The worker gets a share of this user's request limits. */
  user: 'LOGFLEET_WORKER_USER',
  /** Number of workers of the export. */
  workers: 'LOGFLEET_WORKERS',
  /** Index of this worker, starting at 0. Kubernetes sets this variable in the pods of Indexed Jobs. */
  index: 'JOB_COMPLETION_INDEX',
  /** Name of the worker's Kubernetes Job. */
  job: 'LOGFLEET_WORKER_JOB',
  /** Uid of the SearchExport. */
  exportUid: 'LOGFLEET_WORKER_EXPORT_UID',
  requestsPerSecond: 'LOGFLEET_WORKER_REQUESTS_PER_SECOND',
  maxConcurrentRequests: 'LOGFLEET_WORKER_MAX_CONCURRENT_REQUESTS',
} as const;

/** Folders in a worker's container. */
export const workerFolders = {
  export: '/logfleet-worker/export',
  secrets: '/logfleet-worker/secrets',
  claim: '/logfleet-worker/claim',
} as const;

export const exportManifestFile = 'export.json';
/** Name of the volume for the PersistentVolumeClaim. */
export const claimVolume = 'claim';

/** Exit status of a pod when a user must correct something. After this status, Kubernetes starts no replacement pod. */
export const needsPersonStatus = 3;
