/** Creates the S3 client with time limits and proxy settings. */
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import type { Environment } from '../../base/proxy-environment.ts';
import { readResponse } from '../store/read-object.ts';
import { defaultSilenceMs } from '../store/silence-timer.ts';
import { StoreAgents } from '../store/store-agents.ts';
import type { S3Settings } from './s3-settings.ts';

const defaultRegion = 'us-east-1';
/** Maximum number of attempts per request. With this limit, an unavailable store is reported within four minutes. */
const maxAttempts = 3;
const connectTimeoutMs = 5_000;

const silent = () => {};

export function createClient(
  settings: S3Settings,
  environment: Environment,
  silenceMs: number = defaultSilenceMs,
): S3Client {
  const { region = defaultRegion, endpoint, forcePathStyle, credentials } = settings;
  const agents = new StoreAgents(endpoint ?? `https://s3.${region}.amazonaws.com`, environment);
  const config: S3ClientConfig = {
    region,
    maxAttempts,
    retryMode: 'standard',
    ...(endpoint !== undefined && { endpoint }),
    ...(forcePathStyle !== undefined && { forcePathStyle }),
    ...(credentials !== 'ambient' && {
      credentials: {
        accessKeyId: credentials.accessKeyId,
        secretAccessKey: credentials.secretAccessKey.reveal(),
        ...(credentials.sessionToken && { sessionToken: credentials.sessionToken.reveal() }),
      },
    }),
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      socketTimeout: silenceMs,
      httpAgent: agents.http,
      httpsAgent: agents.https,
    },
    // Without this setting, the SDK sends `Expect: 100-continue` for large uploads. For such uploads, the SDK may
    // ignore the agents that are set above.
    expectContinueHeader: false,
    logger: { trace: silent, debug: silent, info: silent, warn: silent, error: silent },
  };
  const client = new S3Client(config);
  // The SDK would read a response of any size into memory. Therefore, logfleet reads all responses itself, except the
  // content of objects.
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const result = await next(args);
        const response = result.response as HttpResponse;
        const isObject = commandName === 'GetObjectCommand' && response.statusCode < 300;
        if (!isObject) Object.assign(response, { body: await readResponse(response.body, response.statusCode) });
        return result;
      },
    { step: 'deserialize', priority: 'low' },
  );
  return client;
}

/** HTTP response whose body the SDK has not parsed yet. */
interface HttpResponse {
  readonly statusCode: number;
  readonly body: AsyncIterable<Uint8Array>;
}
