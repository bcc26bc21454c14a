/** The named times of exports, and what the operator lends them. One object each, so that tests and demonstrations set them together. */

export interface ExportSettings {
  /** Figures in status are written at most once in this time. */
  readonly statusIntervalMs: number;
  /** A Secret of a store that was read longer ago is read again before use. */
  readonly secretMaxAgeMs: number;
  /** What is shown of searches is looked at this long after news of them. */
  readonly newsDelayMs: number;
}

export const exportSettings: ExportSettings = {
  statusIntervalMs: 10_000,
  secretMaxAgeMs: 60_000,
  newsDelayMs: 1_000,
};

/** Where exports may write. */
export interface ExportPlaces {
  /** By the names that `destination.volume.name` has: directories, which have to be there. */
  readonly volumes: ReadonlyMap<string, string>;
  /** Whether an export that names no Secret for its store may use the credentials of the operator itself. */
  readonly allowAmbientCredentials: boolean;
  /** Read for `HTTPS_PROXY` and `NO_PROXY`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export const noPlaces: ExportPlaces = { volumes: new Map(), allowAmbientCredentials: false, environment: {} };
