/** Opens a destination from its settings. The S3 SDK is loaded only for an object store, since loading it takes a sixth of a second. */
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { Destination } from './destination.ts';
import type { S3Settings } from './s3/s3-settings.ts';
import type { LeftUpload } from './s3/s3-upload.ts';

export type DestinationSettings =
  | {
      readonly kind: 'volume';
      /** Directory of the volume, which must exist. */
      readonly directory: string;
      /** Name of the destination's root folder in the directory. The folder is created if it is missing. */
      readonly root: string;
    }
  | { readonly kind: 's3'; readonly settings: S3Settings };

export interface DestinationPorts {
  readonly clock: Clock;
  readonly random: Random;
  /** Environment variables, of which the proxy settings `HTTPS_PROXY` and `NO_PROXY` are used. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * Uploads of this process that could not be removed, for example because credentials had expired (E15). The next destination on the same
   * store removes them. All destinations of a process share this set if it is given; otherwise each destination has its own.
   */
  readonly left?: Set<LeftUpload>;
}

/** Opens a destination without reading or writing anything. Throws `destination.invalid` or `destination.name` for wrong settings. */
export async function openDestination(chosen: DestinationSettings, ports: DestinationPorts): Promise<Destination> {
  if (chosen.kind === 'volume') {
    const { VolumeDestination } = await import('./volume/volume-destination.ts');
    return VolumeDestination.open({ ...chosen, ...ports });
  }
  const { S3Destination } = await import('./s3/s3-destination.ts');
  return S3Destination.open({ left: new Set(), ...ports, settings: chosen.settings });
}
