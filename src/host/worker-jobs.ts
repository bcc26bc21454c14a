/**
 * Interface to the Kubernetes Jobs in which exports run, and to the pods of these Jobs. The interface is not available
 * if the operator reads its resources from manifest directories.
 */
import type { LogfleetError } from '../base/errors.ts';

/** Label on Jobs and pods whose value is the uid of the export to which the Job or pod belongs. */
export const exportLabel = 'logfleet.dev/export-uid';

/** Labels on a Job's pods: the Job's name and the pod's index. */
export const jobNameLabel = 'batch.kubernetes.io/job-name';
export const completionIndexLabel = 'batch.kubernetes.io/job-completion-index';

/** Namespace and name of a Job, pod, ServiceAccount or PersistentVolumeClaim. */
interface JobKey {
  readonly namespace: string;
  readonly name: string;
}

interface WorkerObject {
  readonly metadata: JobKey & {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
}

export interface KubernetesCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface WorkerJob extends WorkerObject {
  readonly spec: { readonly suspend?: boolean; readonly parallelism?: number };
  readonly status: {
    readonly active?: number;
    readonly terminating?: number;
    readonly failed?: number;
    readonly conditions?: readonly KubernetesCondition[];
  };
}

export interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: { readonly startedAt: string };
  readonly terminated?: { readonly exitCode: number; readonly reason?: string; readonly message?: string };
}

export interface WorkerPod extends WorkerObject {
  readonly status: {
    readonly phase?: string;
    readonly reason?: string;
    readonly conditions?: readonly KubernetesCondition[];
    readonly containerStatuses?: readonly { readonly state?: ContainerState }[];
  };
}

export interface WorkerJobs {
  /** Container image for the pods that run exports. */
  readonly image: string;
  /** Reports whether Jobs and pods have been listed. */
  synced(): boolean;
  /** Returns the error of the last list or watch. Returns undefined if the last list or watch did not fail. */
  problem(): LogfleetError | undefined;
  jobs(): Iterable<WorkerJob>;
  pods(): Iterable<WorkerPod>;
  /** Returns the Jobs of the export with this uid. */
  jobsOf(exportUid: string): readonly WorkerJob[];
  /** Returns the pods of the export with this uid. */
  podsOf(exportUid: string): readonly WorkerPod[];
  /**
   * Calls `listener` with the export's uid when a Job or pod changes. Returns a function that unsubscribes the
   * listener.
   */
  subscribe(listener: (exportUid: string) => void): () => void;
  /** Asks the API server whether a Job exists. */
  exists(key: JobKey): Promise<boolean>;
  /** Creates a Job from its manifest. Returns 'exists' if a Job with this name already exists. */
  create(key: JobKey, manifest: object): Promise<'created' | 'exists'>;
  /** Deletes a Job together with its pods. Succeeds if the Job no longer exists. */
  remove(job: WorkerJob): Promise<void>;
  /** Returns the labels of a ServiceAccount, or undefined if it does not exist. */
  serviceAccountLabels(key: JobKey): Promise<Readonly<Record<string, string>> | undefined>;
  /** Returns the access modes of a PersistentVolumeClaim, or undefined if it does not exist. */
  claimAccessModes(key: JobKey): Promise<readonly string[] | undefined>;
}
