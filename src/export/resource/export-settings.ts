/** Settings of all exports. */

export interface ExportSettings {
  /** Minimum time in ms between two writes of progress to the status. */
  readonly statusIntervalMs: number;
  /** Maximum age in ms of the cached Secret of an object store. An older Secret is read again. */
  readonly secretMaxAgeMs: number;
  /** Delay in ms after which an export is reconciled when the state of one of its search jobs has changed. */
  readonly progressDelayMs: number;
}

export const exportSettings: ExportSettings = {
  statusIntervalMs: 10_000,
  secretMaxAgeMs: 60_000,
  progressDelayMs: 1_000,
};

/** Destinations that exports may write to. */
export interface ExportPlaces {
  /** Directories of volumes by volume name (`spec.destination.volume.name`). */
  readonly volumes: ReadonlyMap<string, string>;
  /** True if an export that names no Secret may use the operator's own credentials for its object store. */
  readonly allowAmbientCredentials: boolean;
  /**
   * True if the person who started this process has also chosen the endpoints of the exports, as with
   * `logfleet export`. Tokens for this person's identity may then be sent to any endpoint. The default is false.
   */
  readonly trustsEndpoints?: boolean;
  /** Environment variables, such as `HTTPS_PROXY` and `NO_PROXY`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export const noPlaces: ExportPlaces = { volumes: new Map(), allowAmbientCredentials: false, environment: {} };
