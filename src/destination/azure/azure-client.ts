/** Creates the Azure client with time limits, proxy settings and credentials. */
import {
  AnonymousCredential,
  BlobServiceClient,
  type ContainerClient,
  newPipeline,
  type RequestPolicyFactory,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import type { Clock } from '../../base/clock.ts';
import type { Environment } from '../../base/proxy-environment.ts';
import { SecretText } from '../../base/secret-text.ts';
import { maxResponseBytes, responseTooLarge } from '../store/read-object.ts';
import { SilenceTimer } from '../store/silence-timer.ts';
import { StoreAgents } from '../store/store-agents.ts';
import { checkTokensMayGoTo } from '../store/store-endpoint.ts';
import {
  type AzureCredentials,
  type AzureSettings,
  credentialsOfConnectionString,
  serviceAddress,
} from './azure-settings.ts';

/** Maximum number of attempts per request. */
const maxTries = 3;
const retryDelayMs = 500;

export interface AzureConnection {
  readonly container: ContainerClient;
  close(): void;
}

/** Creates a client for a container without sending a request. */
export async function connect(
  settings: AzureSettings,
  environment: Environment,
  clock: Clock,
  silenceMs?: number,
): Promise<AzureConnection> {
  const address = serviceAddress(settings);
  const agents = new StoreAgents(address, environment);
  const { credentials } = settings;
  const given = credentials === 'ambient' ? credentialsOf(settings, environment) : credentials;
  const { credential, query } = given ? fixedCredential(given) : await tokenCredential(address, agents, environment);
  const pipeline = newPipeline(credential, { retryOptions: { maxTries, retryDelayInMs: retryDelayMs } });
  pipeline.factories.push(transportPolicy(agents), limitPolicy(clock, silenceMs));
  const service = new BlobServiceClient(`${address}${query}`, pipeline);
  return { container: service.getContainerClient(settings.container), close: () => agents.close() };
}

/**
 * Reads the credentials from the environment variables that the `az` command uses. Returns undefined if none are set.
 */
function credentialsOf({ account }: AzureSettings, environment: Environment): AzureCredentials | undefined {
  const variable = (name: string) => environment[`AZURE_STORAGE_${name}`]?.trim() || undefined;
  const text = variable('CONNECTION_STRING');
  if (text !== undefined) return credentialsOfConnectionString(text);
  const accountName = account ?? variable('ACCOUNT');
  const key = variable('KEY');
  if (accountName !== undefined && key !== undefined) {
    return { kind: 'key', accountName, accountKey: new SecretText(key) };
  }
  const token = variable('SAS_TOKEN');
  return token === undefined ? undefined : { kind: 'sas', sasToken: new SecretText(token) };
}

function fixedCredential(given: AzureCredentials) {
  if (given.kind === 'sas') {
    return { credential: new AnonymousCredential(), query: `?${given.sasToken.reveal().replace(/^\?/, '')}` };
  }
  return { credential: new StorageSharedKeyCredential(given.accountName, given.accountKey.reveal()), query: '' };
}

async function tokenCredential(address: string, agents: StoreAgents, environment: Environment) {
  checkTokensMayGoTo(address);
  const { DefaultAzureCredential } = await import('@azure/identity');
  // The SDK does not apply `additionalPolicies` to the token requests of a managed identity, so their agent is set
  // here. These requests go to an `http://` address on the node, and must not use the proxy. A workload identity uses
  // only `https://` requests.
  const options = environment.AZURE_FEDERATED_TOKEN_FILE ? {} : { agent: agents.http };
  const credential = new DefaultAzureCredential({
    ...options,
    additionalPolicies: [
      {
        position: 'perRetry',
        policy: {
          name: 'logfleetTransport',
          sendRequest(request, next) {
            request.agent = agents.of(request.url);
            return next(request);
          },
        },
      },
    ],
  });
  return { credential, query: '' };
}

function transportPolicy(agents: StoreAgents): RequestPolicyFactory {
  return {
    create: (next) => ({
      sendRequest(request) {
        request.agent = agents.of(request.url);
        return next.sendRequest(request);
      },
    }),
  };
}

/** Cancels a request that makes no progress for `silenceMs`, or whose response is too large. */
function limitPolicy(clock: Clock, silenceMs: number | undefined): RequestPolicyFactory {
  return {
    create: (next) => ({
      async sendRequest(request) {
        const silence = new SilenceTimer(clock, silenceMs);
        const size = new AbortController();
        const stop = request.abortSignal as AbortSignal | undefined;
        request.abortSignal = AbortSignal.any([...(stop ? [stop] : []), silence.signal, size.signal]);
        let isReturned = false;
        let isTooLarge = false;
        request.onUploadProgress = () => silence.restart();
        request.onDownloadProgress = ({ loadedBytes }) => {
          // The SDK returns a streamed response as soon as the response begins. From then on, the code that reads the
          // stream enforces its own limits.
          if (isReturned) return;
          isTooLarge = loadedBytes > maxResponseBytes;
          if (isTooLarge) size.abort();
          silence.restart();
        };
        try {
          return await next.sendRequest(request);
        } catch (cause) {
          throw isTooLarge ? responseTooLarge() : cause;
        } finally {
          isReturned = true;
          silence.stop();
        }
      },
    }),
  };
}
