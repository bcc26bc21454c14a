/** Settings of all exports: intervals between writes, and places that exports may write to. */

export interface ExportSettings {
  /** Minimum time in ms between two writes of progress numbers to the status of an export. */
  readonly statusIntervalMs: number;
  /** Maximum age in ms of a store's Secret before use. */
  readonly secretMaxAgeMs: number;
  /** Delay in ms between a change of a search job and the next reconcile, so that one reconcile covers several changes. */
  readonly newsDelayMs: number;
}

export const exportSettings: ExportSettings = {
  statusIntervalMs: 10_000,
  secretMaxAgeMs: 60_000,
  newsDelayMs: 1_000,
};

/** Places that exports may write to. */
export interface ExportPlaces {
  /** Directories of volumes, by the volume's name (`spec.destination.volume.name`). */
  readonly volumes: ReadonlyMap<string, string>;
  /** True if an export without a Secret for its object store may use the operator's credentials. */
  readonly allowAmbientCredentials: boolean;
  /** Environment with `HTTPS_PROXY` and `NO_PROXY`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export const noPlaces: ExportPlaces = { volumes: new Map(), allowAmbientCredentials: false, environment: {} };
