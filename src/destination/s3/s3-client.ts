/** The SDK's client: bounded in time, by the proxies of the environment, and silent. */
import { isIP } from 'node:net';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { bareHost, proxyCredentials, proxyFor, proxyProblem } from '../../base/proxy-environment.ts';
import { destinationError } from '../destination-error.ts';
import type { S3Settings } from './s3-settings.ts';

/** Read for `HTTPS_PROXY` and `NO_PROXY`. */
export type Environment = Readonly<Record<string, string | undefined>>;

const defaultRegion = 'us-east-1';
/** With the SDK's back-off in between, a store that is away is told of after less than four minutes. */
const maxAttempts = 3;
const connectTimeoutMs = 5_000;
/** Until an answer begins, and without a byte moving. */
const answerTimeoutMs = 60_000;
/** Parts of several uploads, and small objects beside them. */
const maxConnections = 32;

const silent = () => {};

export function createClient(settings: S3Settings, environment: Environment): S3Client {
  const { region = defaultRegion, endpoint, forcePathStyle, credentials } = settings;
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
      httpsAgent: { ...agent, proxyEnv: proxyOf(settings, environment) },
    },
    logger: { trace: silent, debug: silent, info: silent, warn: silent, error: silent },
  };
  return new S3Client(config);
}

/** As the environment of Node's agent, which reads less of a proxy than the way to the service does: it gets one that is in order. */
function proxyOf(settings: S3Settings, environment: Environment): Record<string, string> {
  const proxy = proxyTo(originOf(settings), environment);
  if (!proxy) return {};
  const { user, password } = proxyCredentials(proxy);
  proxy.username = encodeURIComponent(user);
  proxy.password = encodeURIComponent(password);
  return { HTTPS_PROXY: proxy.href };
}

function proxyTo(origin: URL, environment: Environment): URL | undefined {
  try {
    return proxyFor(origin, environment);
  } catch (cause) {
    throw destinationError('invalid', proxyProblem, cause);
  }
}

/** Where requests go: to the bucket as a name of its own, unless the path has it. */
function originOf({ bucket, region = defaultRegion, endpoint, forcePathStyle }: S3Settings): URL {
  const origin = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
  const isNamed = forcePathStyle !== true && !bucket.includes('.') && isIP(bareHost(origin)) === 0;
  if (isNamed) origin.hostname = `${bucket}.${origin.hostname}`;
  return origin;
}
