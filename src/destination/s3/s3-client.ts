/** The SDK's client: bounded in time, by the proxies of the environment, and silent. */
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import type { S3Settings } from './s3-settings.ts';

/** Read for `HTTPS_PROXY` and `NO_PROXY`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** With the SDK's back-off in between, a store that is away is told of after less than four minutes. */
const maxAttempts = 3;
const connectTimeoutMs = 5_000;
/** Until an answer begins, and without a byte moving. */
const answerTimeoutMs = 60_000;
/** Parts of several uploads, and small objects beside them. */
const maxConnections = 32;

const silent = () => {};

export function createClient(settings: S3Settings, environment: Environment): S3Client {
  const { region = 'us-east-1', endpoint, forcePathStyle, credentials } = settings;
  const agent = { keepAlive: true, maxSockets: maxConnections };
  const config: S3ClientConfig = {
    region,
    maxAttempts,
    retryMode: 'standard',
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(forcePathStyle === undefined ? {} : { forcePathStyle }),
    ...(credentials === 'ambient'
      ? {}
      : {
          credentials: {
            accessKeyId: credentials.accessKeyId,
            secretAccessKey: credentials.secretAccessKey.reveal(),
            ...(credentials.sessionToken === undefined ? {} : { sessionToken: credentials.sessionToken.reveal() }),
          },
        }),
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      requestTimeout: answerTimeoutMs,
      throwOnRequestTimeout: true,
      socketTimeout: answerTimeoutMs,
      httpAgent: agent,
      httpsAgent: { ...agent, proxyEnv: proxiesOf(environment) },
    },
    logger: { trace: silent, debug: silent, info: silent, warn: silent, error: silent },
  };
  return new S3Client(config);
}

function proxiesOf(environment: Environment): Record<string, string> {
  const names = ['HTTPS_PROXY', 'https_proxy', 'NO_PROXY', 'no_proxy'];
  const given = names.map((name) => [name, environment[name]] as const);
  return Object.fromEntries(given.filter((entry): entry is readonly [string, string] => Boolean(entry[1])));
}
