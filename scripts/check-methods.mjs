// Finds methods that no product code calls, which the dead-code check (knip) does not see: methods
// of exported interfaces and classes, of what a function returns, and of objects that only gather
// functions. Calls in tests do not count: node scripts/check-methods.mjs [root]
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { SyntaxKind } from "typescript/unstable/ast";
import * as is from "typescript/unstable/ast/is";
import { API, SignatureKind } from "typescript/unstable/sync";

/** Methods that are called where the types do not show it, and where that is. */
const CALLED_ELSEWHERE = {
  "startLocked().kill": "tests of a crash",
  "RetryLater.fromResponse": "handlers of users",
  "WebhookEvent.text": "handlers of users",
};
/** The package that users import: some of its methods are for them alone. */
const FOR_USERS = join("packages", "millrace", "src");

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const root = resolve(process.argv[2] ?? here);
const isHere = root === here;
const api = new API({ cwd: root });
const snapshot = api.updateSnapshot({ openProject: join(root, "tsconfig.methods.json") });
const [{ program, checker }] = snapshot.getProjects();
const files = program
  .getSourceFileNames()
  .filter((name) => !relative(root, name).startsWith("..") && !name.includes("node_modules"))
  .map((name) => program.getSourceFile(name));

/** Methods by where they are declared. */
const methods = new Map();
for (const file of files) {
  if (relative(root, file.fileName).startsWith(FOR_USERS)) continue;
  for (const statement of file.statements) declare(file, statement);
}
const names = new Set([...methods.values()].map(({ name }) => name.split(".").at(-1)));
for (const file of files) markCalls(file);
api.close();

// A function may return several objects, and an interface may overload a method.
const called = new Set([...methods.values()].filter(({ isCalled }) => isCalled).map(nameAt));
const uncalled = [...methods.values()].filter((method) => !called.has(nameAt(method)));
const problems = [
  ...uncalled.filter(({ name }) => !Object.hasOwn(CALLED_ELSEWHERE, name)).map(nameAt),
  ...Object.keys(CALLED_ELSEWHERE)
    .filter((name) => isHere && !uncalled.some((method) => method.name === name))
    .map((name) => `${name} is listed in check-methods.mjs, and need not be`),
];
for (const problem of problems) console.log(problem);
console.log(`${methods.size} methods, ${problems.length} problems`);
process.exit(problems.length === 0 && methods.size > 0 ? 0 : 1);

function nameAt({ name, path }) {
  return `${path}: nothing calls ${name}`;
}

/** Notes the methods that a statement declares. */
function declare(file, statement) {
  if (is.isClassDeclaration(statement)) {
    // Others see a class that is not exported, or that implements an interface, as an interface.
    if (!has(statement, SyntaxKind.ExportKeyword) || isImplementation(statement)) return;
    add(file, statement.name.text, statement.members.filter(isPublicMethod));
  } else if (is.isFunctionDeclaration(statement) && statement.type === undefined) {
    for (const literal of returnedLiterals(statement.body)) {
      add(file, `${statement.name?.text}()`, literal.properties.filter(isFunctionProperty));
    }
  } else if (is.isVariableStatement(statement)) {
    for (const { name, type, initializer } of statement.declarationList.declarations) {
      if (type !== undefined || initializer === undefined) continue;
      if (is.isIdentifier(name)) gather(file, name.text, initializer);
    }
  } else if (has(statement, SyntaxKind.ExportKeyword)) {
    const { members } = is.isTypeAliasDeclaration(statement) ? statement.type : statement;
    if (is.isEnumDeclaration(statement) || members === undefined) return;
    add(file, statement.name.text, members.filter(isMethodSignature));
  }
}

/** Functions that an object gathers, or the objects in it. */
function gather(file, owner, value) {
  if (!is.isObjectLiteralExpression(value)) return;
  if (value.properties.every(isFunctionProperty)) return add(file, owner, value.properties);
  for (const { name, initializer } of value.properties.filter(is.isPropertyAssignment)) {
    if (is.isIdentifier(name)) gather(file, name.text, initializer);
  }
}

function add(file, owner, members) {
  const path = relative(root, file.fileName);
  for (const member of members) {
    if (member.name?.text === undefined) continue;
    const name = `${owner}.${member.name.text}`;
    methods.set(placeOf(file, member), { name, path, isCalled: false });
  }
}

function placeOf(file, node) {
  return `${file.fileName}:${node.pos}`;
}

function isImplementation(node) {
  return node.heritageClauses?.some(({ token }) => token === SyntaxKind.ImplementsKeyword) === true;
}

function has(node, kind) {
  return node.modifiers?.some((modifier) => modifier.kind === kind) === true;
}

function isPublicMethod(member) {
  const isMethod = is.isMethodDeclaration(member) || is.isGetAccessorDeclaration(member);
  // A method that overrides another is called by that one's name.
  const isOwn = [SyntaxKind.PrivateKeyword, SyntaxKind.OverrideKeyword].every(
    (kind) => !has(member, kind),
  );
  return isMethod && isOwn && is.isIdentifier(member.name) && !isReacts(member.name.text);
}

/** Called by React. */
function isReacts(name) {
  return name === "getDerivedStateFromError";
}

function isMethodSignature(member) {
  if (is.isMethodSignatureDeclaration(member)) return true;
  return is.isPropertySignatureDeclaration(member) && member.type?.kind === SyntaxKind.FunctionType;
}

function isFunctionProperty(property) {
  if (is.isMethodDeclaration(property)) return true;
  if (is.isShorthandPropertyAssignment(property)) return isFunction(property.name);
  if (!is.isPropertyAssignment(property)) return false;
  const { initializer } = property;
  return (
    is.isArrowFunction(initializer) || (is.isIdentifier(initializer) && isFunction(initializer))
  );
}

function isFunction(node) {
  const type = checker.getTypeAtLocation(node);
  return type !== undefined && checker.getSignaturesOfType(type, SignatureKind.Call).length > 0;
}

function returnedLiterals(body) {
  const literals = [];
  const visit = (node) => {
    if (is.isFunctionDeclaration(node) || is.isArrowFunction(node)) return;
    if (is.isReturnStatement(node) && node.expression !== undefined) {
      if (is.isObjectLiteralExpression(node.expression)) literals.push(node.expression);
    }
    node.forEachChild(visit);
  };
  body?.forEachChild(visit);
  return literals;
}

/** Marks the methods that a file names: in `object.method` and in `const { method } = object`. */
function markCalls(file) {
  const accessed = [];
  const patterns = [];
  const visit = (node) => {
    if (is.isPropertyAccessExpression(node) && names.has(node.name.text)) accessed.push(node.name);
    if (is.isObjectBindingPattern(node)) {
      for (const element of node.elements) {
        const name = element.propertyName ?? element.name;
        if (is.isIdentifier(name) && names.has(name.text)) patterns.push({ node, text: name.text });
      }
    }
    node.forEachChild(visit);
  };
  visit(file);
  if (accessed.length > 0) checker.getSymbolAtLocation(accessed).forEach(mark);
  for (const { node, text } of patterns) {
    const type = checker.getTypeAtLocation(node);
    if (type !== undefined) mark(checker.getPropertyOfType(type, text));
  }
}

function mark(symbol) {
  for (const handle of symbol?.declarations ?? []) {
    const node = handle.resolve();
    const method = node && methods.get(placeOf(program.getSourceFile(handle.path), node));
    if (method !== undefined) method.isCalled = true;
  }
}
