/** Settings of exports: times, and the volumes and credentials that the operator provides. */

export interface ExportSettings {
  /** Minimum time in ms between two writes of changed progress numbers to the status. */
  readonly statusIntervalMs: number;
  /** Maximum age in ms of a store's Secret before use. */
  readonly secretMaxAgeMs: number;
  /** Delay in ms between a change in a running search and the next status, so that one update covers several changes. */
  readonly newsDelayMs: number;
}

export const exportSettings: ExportSettings = {
  statusIntervalMs: 10_000,
  secretMaxAgeMs: 60_000,
  newsDelayMs: 1_000,
};

/** Places that exports may write to. */
export interface ExportPlaces {
  /** Existing directories that exports may write to, by the name in `spec.destination.volume.name`. */
  readonly volumes: ReadonlyMap<string, string>;
  /** True if an export without a Secret for its store may use the operator's credentials. */
  readonly allowAmbientCredentials: boolean;
  /** Environment with `HTTPS_PROXY` and `NO_PROXY`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export const noPlaces: ExportPlaces = { volumes: new Map(), allowAmbientCredentials: false, environment: {} };
