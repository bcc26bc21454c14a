/** Settings for an Azure Blob Storage container. */
import { connectionEntries } from '../../base/connection-string.ts';
import { SecretText } from '../../base/secret-text.ts';
import { withoutTrailingSlashes } from '../../base/trailing-slashes.ts';
import { destinationError } from '../store/destination-error.ts';
import { folderSegments } from '../store/object-name.ts';
import { checkEndpoint, checkName } from '../store/store-endpoint.ts';

/** Credentials of a storage account: its name and account key, or a shared access signature (SAS). */
export type AzureCredentials =
  | { readonly kind: 'key'; readonly accountName: string; readonly accountKey: SecretText }
  | { readonly kind: 'sas'; readonly sasToken: SecretText };

export interface AzureSettings {
  /** Name of the storage account. Set either `account` or `endpoint`, not both. */
  readonly account?: string;
  /** URL of the blob service, such as `https://logs.blob.core.usgovcloudapi.net`. */
  readonly endpoint?: string;
  readonly container: string;
  /** Folder in the container for all files. If empty, files are stored at the root of the container. */
  readonly root: string;
  /** Credentials for the account. With `ambient`, Azure's SDK finds credentials in the environment. */
  readonly credentials: AzureCredentials | 'ambient';
  /** True to allow a URL that begins with `http://`. */
  readonly insecure?: boolean;
}

const accountForm = /^[a-z0-9]{3,24}$/;
const containerForm = /^(?=.{3,63}$)[a-z0-9]+(?:-[a-z0-9]+)*$/;

/**
 * Checks the settings. Throws `destination.name` if the folder name is invalid, and `destination.invalid` for other
 * mistakes.
 */
export function checkAzureSettings({ account, endpoint, container, root, insecure }: AzureSettings): void {
  if ((account === undefined) === (endpoint === undefined)) {
    throw destinationError(
      'invalid',
      'an azureBlob destination needs either account or endpoint: set exactly one of them',
    );
  }
  if (account !== undefined)
    checkName('account name', account, accountForm, 'a name of 3 to 24 lower-case letters and digits');
  checkName(
    'container name',
    container,
    containerForm,
    'a name of 3 to 63 lower-case letters, digits and single hyphens',
  );
  folderSegments(root);
  checkEndpoint(endpoint, insecure);
}

/** Returns the URL of the account's blob service, without a trailing slash. */
export function serviceAddress({ account, endpoint }: Pick<AzureSettings, 'account' | 'endpoint'>): string {
  return withoutTrailingSlashes(endpoint ?? `https://${account}.blob.core.windows.net`);
}

/** Reads the credentials from a connection string. Returns undefined if the string contains none. */
export function credentialsOfConnectionString(text: string): AzureCredentials | undefined {
  const { AccountName, AccountKey, SharedAccessSignature } = connectionEntries(text);
  if (AccountName && AccountKey) {
    return { kind: 'key', accountName: AccountName, accountKey: new SecretText(AccountKey) };
  }
  return SharedAccessSignature ? { kind: 'sas', sasToken: new SecretText(SharedAccessSignature) } : undefined;
}
