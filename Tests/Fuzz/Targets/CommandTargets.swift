import FoundationEssentials
import Glibc
import JSONRPC
import UsherCore

@testable import UsherCommands

// What usherctl reads of services and of other programs.
extension FuzzTarget {
  /// The metadata of a protected resource is used only if it is about the resource, and has an
  /// authorization server (RFC 9728 §3.3); the scope is that of the challenge, or else the listed
  /// one.
  ///
  /// The first line of an input is the challenge of the resource, the second one the metadata.
  static let resourceMetadata = FuzzTarget("resource-metadata", words: ["UsherCommands/Resource"]) {
    input in
    let lines = input.lines + [[]]
    let challenge = BearerChallenge(lines[0].text)
    guard let metadata = try? JSONValue(parsing: lines[1]), metadata.objectValue != nil else {
      return
    }
    let url = "https://mcp.example/mcp"
    guard let resource = try? ProtectedResource(metadata, of: url, challenge) else { return }
    try require(metadata["resource"] == .string(url), "metadata of another resource is used")
    try require(!resource.issuers.isEmpty, "there is no authorization server")
    let listed = metadata["authorization_servers"]?.arrayValue ?? []
    try require(
      resource.issuers.allSatisfy { listed.contains(.string($0)) }, "an issuer is not listed")
    let scope = challenge?.scope ?? ""
    try require(
      scope.isEmpty || resource.scope == scope, "the scope of the challenge is not used")
    // No provider has one of the issuers, so there is no sign-in.
    try require((try? resource.provider(of: [], chosen: nil)) == nil, "a provider is found")
  }

  /// Any configuration of oidc-agent is read without an error, and has each issuer once.
  ///
  /// The first line of an input is `pubclients.config`, the others are `issuer.config`.
  static let agentConfig = FuzzTarget("agent-config", words: ["UsherCommands/Migration"]) { input in
    let folder = try AgentFolder()
    defer { folder.remove() }
    let end = input.firstIndex(of: UInt8(ascii: "\n")) ?? input.endIndex
    try folder.write(input[..<end], to: "pubclients.config")
    try folder.write(input[end...].dropFirst(), to: "issuer.config")
    let read = try OIDCAgentFolder(folder.path, system: folder.path + "/none")
    let urls = read.issuers.map { issuer in
      Array((issuer.url.hasSuffix("/") ? String(issuer.url.dropLast()) : issuer.url).utf8)
    }
    try require(Set(urls).count == urls.count, "an issuer occurs twice: \(read.issuers)")
    try require(read.accounts.isEmpty, "accounts are found that are no files")
    let clients = read.issuers.compactMap(\.client)
    try require(clients.allSatisfy { !$0.id.isEmpty }, "a client has no id")
  }
}

/// A directory of oidc-agent.
private struct AgentFolder {
  let path: String

  init() throws {
    path =
      FileManager.default.temporaryDirectory.path + "/usher-fuzz-agent-\(getpid())"
      + "-\(UInt32.random(in: .min ... .max))"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: nil)
  }

  func write(_ bytes: ArraySlice<UInt8>, to name: String) throws {
    try Data(bytes).write(to: URL(filePath: "\(path)/\(name)"))
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }
}
