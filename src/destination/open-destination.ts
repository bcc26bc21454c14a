/** Opens a destination. Object store SDKs are loaded only when needed. */
import type { AzureSettings } from './azure/azure-settings.ts';
import type { GcsSettings } from './gcs/gcs-settings.ts';
import type { S3Settings } from './s3/s3-settings.ts';
import type { Destination, DestinationPorts } from './store/destination.ts';

export type DestinationSettings =
  | {
      readonly kind: 'volume';
      /** Directory of the volume. The directory must exist. */
      readonly directory: string;
      /** Root folder in the directory. logfleet creates the folder if it is missing. */
      readonly root: string;
    }
  | { readonly kind: 's3'; readonly settings: S3Settings }
  | { readonly kind: 'azureBlob'; readonly settings: AzureSettings }
  | { readonly kind: 'gcs'; readonly settings: GcsSettings };

/**
 * Opens a destination without reading or writing anything. Throws `destination.name` if the folder name is invalid, and
 * `destination.invalid` for other wrong settings.
 */
export async function openDestination(chosen: DestinationSettings, ports: DestinationPorts): Promise<Destination> {
  switch (chosen.kind) {
    case 'volume': {
      const { VolumeDestination } = await import('./volume/volume-destination.ts');
      return new VolumeDestination({ ...chosen, ...ports });
    }
    case 's3': {
      const { S3Destination } = await import('./s3/s3-destination.ts');
      return new S3Destination({ ...ports, settings: chosen.settings });
    }
    case 'azureBlob': {
      const { AzureDestination } = await import('./azure/azure-destination.ts');
      return AzureDestination.open({ ...ports, settings: chosen.settings });
    }
    case 'gcs': {
      const { GcsDestination } = await import('./gcs/gcs-destination.ts');
      return new GcsDestination({ ...ports, settings: chosen.settings });
    }
  }
}
