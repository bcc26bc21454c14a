/** Parses valid and invalid JSON into a tree with positions, from the tokens of @streamparser/json. */
import { Tokenizer, TokenType } from '@streamparser/json';

export interface TreeNode {
  readonly kind: 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';
  /** Offset of the first byte of the JSON value. */
  readonly start: number;
  /** Offset of the first byte after the JSON value. Undefined if an object or array is not closed. */
  end?: number;
  /** The decoded string, or the digits of a number. */
  readonly text: string;
  readonly members: TreeMember[];
  readonly items: TreeNode[];
}

export interface TreeMember {
  readonly name: string;
  /** Offset of a field name in a JSON object. */
  readonly start: number;
  /** Value of the field, or undefined if a syntax error comes before the value. */
  value?: TreeNode;
}

export interface Tree {
  readonly root: TreeNode | undefined;
  /** Offset of the first wrong byte, or the length of the text if it ends too early. Undefined if the JSON is valid. */
  readonly wrongAt: number | undefined;
}

interface FoundToken {
  readonly type: TokenType;
  readonly value: unknown;
  readonly offset: number;
}

/** Parses JSON text into a tree. Bytes outside ASCII are not checked, so invalid UTF-8 is accepted. */
export function parseTree(bytes: Uint8Array): Tree {
  const { tokens, stoppedAt } = tokenize(bytes.map((byte) => (byte < 0x80 ? byte : 0x3f)));
  return new TreeBuilder(tokens, stoppedAt ?? bytes.length, stoppedAt !== undefined).build();
}

class WholeNumbers extends Tokenizer {
  protected override parseNumber(text: string): number {
    return text as unknown as number;
  }
}

const positionForm = /absolute position "(\d+)"/;

function tokenize(ascii: Uint8Array): { tokens: FoundToken[]; stoppedAt: number | undefined } {
  const tokens: FoundToken[] = [];
  const tokenizer = new WholeNumbers();
  tokenizer.onToken = ({ token, value, offset }) => {
    tokens.push({ type: token, value, offset });
  };
  let stoppedAt: number | undefined;
  tokenizer.onError = ({ message }) => {
    stoppedAt = Number(positionForm.exec(message)?.[1] ?? Number.NaN);
  };
  tokenizer.write(ascii);
  // The tokenizer does not know that the text ends here, so it treats a number at the end as incomplete.
  return { tokens, stoppedAt };
}

/** Thrown when the text ends too early, or when a token is in the wrong place. */
class Stop extends Error {
  readonly at: number;

  constructor(at: number) {
    super(`stopped at ${at}`);
    this.at = at;
  }
}

class TreeBuilder {
  readonly #tokens: readonly FoundToken[];
  readonly #endAt: number;
  readonly #isStopped: boolean;
  #next = 0;

  constructor(tokens: readonly FoundToken[], endAt: number, isStopped: boolean) {
    this.#tokens = tokens;
    this.#endAt = endAt;
    this.#isStopped = isStopped;
  }

  build(): Tree {
    let root: TreeNode | undefined;
    try {
      this.#value((node) => {
        root = node;
      });
      const surplus = this.#tokens[this.#next];
      if (surplus) throw new Stop(surplus.offset);
      return { root, wrongAt: this.#isStopped ? this.#endAt : undefined };
    } catch (error) {
      if (!(error instanceof Stop)) throw error;
      return { root, wrongAt: error.at };
    }
  }

  #take(): FoundToken {
    const token = this.#tokens[this.#next];
    if (!token) throw new Stop(this.#endAt);
    this.#next++;
    return token;
  }

  /**
   * Reads a value. Adds the value to the tree before reading its content, so that the tree contains the value even if
   * reading fails.
   */
  #value(place: (node: TreeNode) => void, token = this.#take()): void {
    const kind = kinds.get(token.type);
    if (!kind) throw new Stop(token.offset);
    const node: TreeNode = { kind, start: token.offset, text: String(token.value), members: [], items: [] };
    place(node);
    if (kind === 'object') this.#object(node);
    if (kind === 'array') this.#array(node);
  }

  #object(node: TreeNode): void {
    let token = this.#take();
    while (token.type !== TokenType.RIGHT_BRACE || node.members.length > 0) {
      if (token.type !== TokenType.STRING) throw new Stop(token.offset);
      const member: TreeMember = { name: String(token.value), start: token.offset };
      node.members.push(member);
      this.#expect(TokenType.COLON);
      this.#value((value) => {
        member.value = value;
      });
      token = this.#take();
      if (token.type === TokenType.RIGHT_BRACE) break;
      if (token.type !== TokenType.COMMA) throw new Stop(token.offset);
      token = this.#take();
    }
    node.end = token.offset + 1;
  }

  #array(node: TreeNode): void {
    let token = this.#take();
    while (token.type !== TokenType.RIGHT_BRACKET || node.items.length > 0) {
      this.#value((item) => node.items.push(item), token);
      token = this.#take();
      if (token.type === TokenType.RIGHT_BRACKET) break;
      if (token.type !== TokenType.COMMA) throw new Stop(token.offset);
      token = this.#take();
    }
    node.end = token.offset + 1;
  }

  #expect(type: TokenType): void {
    const token = this.#take();
    if (token.type !== type) throw new Stop(token.offset);
  }
}

const kinds: ReadonlyMap<TokenType, TreeNode['kind']> = new Map<TokenType, TreeNode['kind']>([
  [TokenType.LEFT_BRACE, 'object'],
  [TokenType.LEFT_BRACKET, 'array'],
  [TokenType.STRING, 'string'],
  [TokenType.NUMBER, 'number'],
  [TokenType.TRUE, 'boolean'],
  [TokenType.FALSE, 'boolean'],
  [TokenType.NULL, 'null'],
]);
