import ArgumentParser
import UsherClient

struct CredentialVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credential", abstract: "Manage stored provider credentials.",
    discussion: "Uses the admin socket.",
    subcommands: [CredentialSetVerb.self, CredentialListVerb.self, CredentialDeleteVerb.self])
}

struct CredentialSetVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Store a credential; its value is read from standard input.",
    discussion: """
      One newline at the end of the input is ignored. On a terminal, prompts for the value and \
      does not show it.
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The name by which the configuration refers to it.")
  var name: String

  func run(at context: CommandContext) async throws {
    let value = try await context.console.readSecret("value of \(name)")
    try await context.show(CredentialSet(name: name, value: WireSecret(value))) { _ in
      context.console.printMessage("credential \(name) stored")
    }
  }
}

extension Console {
  /// Reads a secret: on a terminal from a line that is not shown, otherwise all of standard input.
  ///
  /// - Parameter title: The prompt, which names the secret.
  func readSecret(_ title: String) async throws -> Secret {
    // A private key in PEM fits.
    let limit = 65_536
    let bytes: [UInt8]
    if isInteractive {
      prompt("\(title) (not shown): ")
      bytes = Array((try await readLine(echo: false) ?? "").utf8)
    } else {
      bytes = try await readAll(limit: limit).withoutNewline
    }
    guard bytes.count <= limit else {
      throw CommandFailure("the value is longer than \(limit) bytes")
    }
    guard !bytes.isEmpty else { throw CommandFailure("the value is empty") }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw CommandFailure("the value is not text in UTF-8")
    }
    return Secret(text)
  }
}

extension [UInt8] {
  /// The bytes without a newline at their end, which `echo` adds.
  fileprivate var withoutNewline: [UInt8] {
    guard last == UInt8(ascii: "\n") else { return self }
    let line = dropLast()
    return Array(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
  }
}

struct CredentialListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the names of the stored credentials.")

  @OptionGroup var options: GlobalOptions

  func run(at context: CommandContext) async throws {
    try await context.show(CredentialList()) { reply in
      context.console.table(
        ["NAME", "SOURCE", "SET"],
        reply.credentials.map { [$0.name, $0.source.rawValue, $0.setAt.map { "\($0)" } ?? ""] },
        none: "no credentials")
    }
  }
}

struct CredentialDeleteVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Delete a stored credential.")

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The credential's name.")
  var name: String

  func run(at context: CommandContext) async throws {
    try await context.show(CredentialDelete(name: name)) { _ in
      context.console.printMessage("credential \(name) deleted")
    }
  }
}
