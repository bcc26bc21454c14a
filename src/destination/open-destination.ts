/** From settings to a destination. What speaks to stores is loaded when one is opened: it takes a sixth of a second. */
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { Destination } from './destination.ts';
import { LeftUploads } from './s3/left-uploads.ts';
import type { S3Settings } from './s3/s3-settings.ts';

export type DestinationSettings =
  | {
      readonly kind: 'volume';
      /** Has to be there. */
      readonly directory: string;
      /** Below the directory, as a name; made where it is missing. */
      readonly root: string;
    }
  | { readonly kind: 's3'; readonly settings: S3Settings };

export interface DestinationPorts {
  readonly clock: Clock;
  readonly random: Random;
  /** Read for `HTTPS_PROXY` and `NO_PROXY`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Shared by all destinations of a process that are opened one after the other; its own, where absent. */
  readonly left?: LeftUploads;
}

/** Neither reads nor writes anything yet. `destination.invalid` or `destination.name` for settings that cannot be right. */
export async function openDestination(chosen: DestinationSettings, ports: DestinationPorts): Promise<Destination> {
  if (chosen.kind === 'volume') {
    const { VolumeDestination } = await import('./volume/volume-destination.ts');
    return VolumeDestination.open({ ...chosen, ...ports });
  }
  const { S3Destination } = await import('./s3/s3-destination.ts');
  return S3Destination.open({ left: new LeftUploads(), ...ports, settings: chosen.settings });
}
