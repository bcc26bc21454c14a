/**
 * Time settings of exports, and the places and credentials that the operator provides. Each is one object, so that tests and demonstrations
 * set them together.
 */

export interface ExportSettings {
  /** Minimum time in ms between writes of figures to status. */
  readonly statusIntervalMs: number;
  /** Maximum age in ms of a store's Secret before use. */
  readonly secretMaxAgeMs: number;
  /** Delay in ms after news of searches before the view is updated. */
  readonly newsDelayMs: number;
}

export const exportSettings: ExportSettings = {
  statusIntervalMs: 10_000,
  secretMaxAgeMs: 60_000,
  newsDelayMs: 1_000,
};

/** Places that exports may write to. */
export interface ExportPlaces {
  /** Existing directories by the name in `destination.volume.name`. */
  readonly volumes: ReadonlyMap<string, string>;
  /** True if an export without a Secret for its store may use the operator's credentials. */
  readonly allowAmbientCredentials: boolean;
  /** Environment with `HTTPS_PROXY` and `NO_PROXY`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export const noPlaces: ExportPlaces = { volumes: new Map(), allowAmbientCredentials: false, environment: {} };
