import ArgumentParser
import UsherClient

struct ProviderVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "provider", abstract: "Show and test the configured providers.",
    subcommands: [
      ProviderListVerb.self, ProviderShowVerb.self, ProviderCheckVerb.self, ProviderJWKSVerb.self,
      ProviderRegisterVerb.self, ProviderClientMetadataVerb.self,
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
    commandName: "jwks", abstract: "Print the public keys for a client's registration.",
    discussion: """
      Prints the key set that a provider needs for the method private_key_jwt, for a client with a \
      certificate, and for encrypted ID tokens and userinfo answers. The private keys are the \
      credentials that client_credential and decryption_credential name. Uses the admin socket.
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The provider's name.")
  var name: ProviderName

  @Flag(help: "Make a key if its credential is not set.")
  var create = false

  @Flag(help: "Print the client's certificate in PEM in place of the key set.")
  var certificate = false

  func run(at context: CommandContext) async throws {
    let call = ProviderJWKS(provider: name, create: create ? true : nil)
    let reply = try await context.show(call) { reply in
      if certificate {
        for line in reply.certificateInPEM ?? [] { context.console.print(line) }
      } else {
        let keySet = JSONValue.object(["keys": .array(reply.keys)])
        context.console.print(String(decoding: keySet.encoded(), as: UTF8.self))
      }
    }
    if certificate, reply.certificateInPEM == nil {
      throw ValidationError(
        "provider \(name) has no certificate: its client_auth is neither tls_client_auth nor "
          + "self_signed_tls_client_auth")
    }
  }
}

extension ProviderJWKS.Reply {
  /// The certificate of the key (`x5c`, RFC 7517 §4.7) as the lines of RFC 7468; nil if there is
  /// none.
  fileprivate var certificateInPEM: [String]? {
    guard let encoded = keys.lazy.compactMap({ $0["x5c"]?[0]?.stringValue }).first else {
      return nil
    }
    var lines = ["-----BEGIN CERTIFICATE-----"]
    var rest = encoded[...]
    while !rest.isEmpty {
      lines.append(String(rest.prefix(64)))
      rest = rest.dropFirst(64)
    }
    return lines + ["-----END CERTIFICATE-----"]
  }
}

struct ProviderRegisterVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "register", abstract: "Register usherd as a client of a provider.",
    discussion: """
      For a provider of type oidc that has no client_id in the configuration (RFC 7591). usherd \
      stores the client id and the secrets, and uses them from then on. Uses the admin socket.
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The provider's name.")
  var name: ProviderName

  @Flag(help: "Read the provider's initial access token from standard input.")
  var initialAccessToken = false

  @Flag(help: "Change the registration to what the configuration says now.")
  var update = false

  @Flag(help: "Delete the client at the provider.")
  var delete = false

  func validate() throws {
    guard [initialAccessToken, update, delete].count(where: { $0 }) <= 1 else {
      throw ValidationError("Use one of --initial-access-token, --update and --delete.")
    }
  }

  func run(at context: CommandContext) async throws {
    if delete {
      try await context.show(ProviderUnregister(provider: name)) { _ in
        context.console.printMessage("the client is deleted at provider \(name)")
      }
      return
    }
    let token =
      initialAccessToken
      ? WireSecret(try await context.console.readSecret("initial access token")) : nil
    let method = ProviderRegister(
      provider: name, initialAccessToken: token, update: update ? true : nil)
    try await context.show(method) { reply in
      context.console.printProperties([
        ("issuer", reply.issuer), ("client id", reply.clientID),
        ("authentication", reply.authMethod),
        ("redirect URIs", reply.redirectURIs.joined(separator: " ")),
        ("secret expires", reply.secretExpiresAt.map { "\($0)" } ?? "never"),
        ("can be changed", reply.isManaged ? "yes" : "no"),
      ])
    }
  }
}

struct ProviderClientMetadataVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "client-metadata", abstract: "Print the document to publish at the client id.",
    discussion: """
      For a provider of type oidc whose client_id is an https URL: the provider reads the client's \
      metadata there, and needs no registration. Publish the output at that URL as \
      application/json, and again after a change of the settings or of the key. Uses the admin \
      socket.
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The provider's name.")
  var name: ProviderName

  func run(at context: CommandContext) async throws {
    try await context.show(ProviderClientMetadata(provider: name)) { reply in
      context.console.print(String(decoding: reply.document.encoded(), as: UTF8.self))
    }
  }
}
