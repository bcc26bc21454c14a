/** Environment variables and folders with which the operator passes an export to a worker (a pod of a Kubernetes Job). */

/** Environment variables of a worker. The operator sets all of them except the index. */
export const workerVariables = {
  /** File to which the worker writes its report. `logfleet export` is a worker if this variable is set. */
  report: 'LOGFLEET_WORKER_REPORT',
  /** Folder with the Secrets: a folder for each Secret, with a file for each key. */
  secrets: 'LOGFLEET_WORKER_SECRETS',
  /** User of the service whose request limits the worker shares. */
  user: 'LOGFLEET_WORKER_USER',
  /** Number of workers of the export. */
  workers: 'LOGFLEET_WORKERS',
  /** Number of this worker, from 0. Kubernetes sets this variable in the pods of an Indexed Job. */
  index: 'JOB_COMPLETION_INDEX',
  /** Name of the Kubernetes Job of the worker. */
  job: 'LOGFLEET_WORKER_JOB',
  /** Uid of the SearchExport. */
  exportUid: 'LOGFLEET_WORKER_EXPORT_UID',
  requestsPerSecond: 'LOGFLEET_WORKER_REQUESTS_PER_SECOND',
  maxConcurrentRequests: 'LOGFLEET_WORKER_MAX_CONCURRENT_REQUESTS',
} as const;

/** Folders in the container of a worker. */
export const workerFolders = {
  export: '/logfleet-worker/export',
  secrets: '/logfleet-worker/secrets',
  claim: '/logfleet-worker/claim',
} as const;

export const manifestFile = 'export.json';
/** Name of the volume for the PersistentVolumeClaim. */
export const claimVolume = 'claim';

/** Exit status of a worker if a user must correct something. After this status, Kubernetes starts no other pod. */
export const needsPersonStatus = 3;
