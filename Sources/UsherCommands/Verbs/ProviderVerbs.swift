import ArgumentParser
import UsherClient

struct ProviderVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "provider", abstract: "Show and test the configured providers.",
    subcommands: [
      ProviderListVerb.self, ProviderShowVerb.self, ProviderCheckVerb.self, ProviderJWKSVerb.self,
    ])
}

struct ProviderListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the providers you may use.")

  @OptionGroup var options: GlobalOptions

  func run(at context: CommandContext) async throws {
    try await context.show(ProviderList()) { reply in
      context.console.table(
        ["PROVIDER", "TYPE", "FLOWS"],
        reply.providers.map { provider in
          ["\(provider.name)", provider.type, provider.flows.map(\.kind).joined(separator: ", ")]
        })
    }
  }
}

struct ProviderShowVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show a provider's flows and their parameters.")

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The provider's name.")
  var name: ProviderName

  func run(at context: CommandContext) async throws {
    try await context.show(ProviderGet(provider: name)) { provider in
      context.console.printProperties([("provider", "\(provider.name)"), ("type", provider.type)])
      for flow in provider.flows {
        context.console.print("")
        context.console.print("\(flow.kind): \(flow.summary)")
        context.console.table(["  PARAM", "TYPE", "REQUIRED"], flow.rows)
      }
    }
  }
}

extension ProviderGet.Flow {
  /// The rows of the table of the flow's parameters, from their JSON Schema. A member of an object
  /// has a dotted name.
  fileprivate var rows: [[String]] { Self.rows(of: params, under: [], needed: "yes") }

  /// Returns the rows of a schema.
  ///
  /// - Parameter needed: The text in the column `needed` for a member that the enclosing object
  ///   requires.
  private static func rows(
    of schema: JSONValue, under path: [String], needed: String
  ) -> [[String]] {
    let required = schema["required"]?.arrayValue ?? []
    let properties = schema["properties"]?.objectValue ?? [:]
    return properties.sorted { $0.key < $1.key }.flatMap { name, schema in
      let isRequired = required.contains(.string(name))
      let path = path + [name]
      let full = path.joined(separator: ".")
      let row = [
        "  \(full)", schema["type"]?.stringValue ?? "any", isRequired ? needed : "no",
      ]
      return [row] + rows(of: schema, under: path, needed: isRequired ? needed : "in \(full)")
    }
  }
}

struct ProviderCheckVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Test a provider: discovery, credential, keys, clock.",
    discussion: "Uses the admin socket. Exits with 1 if a check fails.")

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The provider's name.")
  var name: ProviderName

  func run(at context: CommandContext) async throws {
    let reply = try await context.show(ProviderCheck(provider: name)) { reply in
      context.console.table(
        ["CHECK", "RESULT", "MESSAGE"],
        reply.findings.map { [$0.subject, $0.fine ? "ok" : "FAILED", $0.message] })
    }
    if !reply.healthy { throw CommandFailure.silent }
  }
}

struct ProviderJWKSVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "jwks", abstract: "Print the public key for a client's registration.",
    discussion: """
      Prints the key set that a provider needs for the method private_key_jwt. The private key is \
      the credential that client_credential names. Uses the admin socket.
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The provider's name.")
  var name: ProviderName

  @Flag(help: "Make a key if the credential is not set.")
  var create = false

  func run(at context: CommandContext) async throws {
    try await context.show(ProviderJWKS(provider: name, create: create ? true : nil)) { reply in
      let keySet = JSONValue.object(["keys": .array(reply.keys)])
      context.console.print(String(decoding: keySet.encoded(), as: UTF8.self))
    }
  }
}
