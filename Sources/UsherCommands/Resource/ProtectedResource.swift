import UsherClient
import UsherConfig

/// A protected resource, and what its metadata says about the tokens that it accepts (RFC 9728).
struct ProtectedResource: Equatable {
  /// The resource identifier: the URL that the person named.
  var url: String
  /// The issuers of the authorization servers, in the resource's order.
  var issuers: [String]
  /// The scope to request: that of the challenge, or else all that the metadata lists. Nil if the
  /// resource names none.
  var scope: String?

  /// Asks a resource for its metadata.
  ///
  /// The address of the metadata is that of the resource's challenge (RFC 9728 §5.1), or one of the
  /// well-known addresses.
  ///
  /// - Throws: ``CommandFailure`` that says what is wrong with the resource or its metadata.
  static func discover(_ text: String, tools: any Tools) async throws -> ProtectedResource {
    let url = try URL(resource: text)
    let request = ResourceRequest(tools: tools)
    // A resource may answer without end, so the body is not read.
    let refusal = try await request.get(url.url, keepsBody: false)
    let challenge = refusal.status == 401 ? refusal.challenge.flatMap(BearerChallenge.init) : nil
    return try ProtectedResource(
      await metadata(of: url, challenge, request), of: text, challenge)
  }

  /// Reads the metadata of a resource (RFC 9728 §3.2).
  ///
  /// - Parameters:
  ///   - text: The URL that the person named, about which the metadata must be (RFC 9728 §3.3).
  ///   - challenge: The challenge of the resource; nil if it sent none.
  /// - Throws: ``CommandFailure`` that says what is wrong with the metadata.
  init(_ metadata: JSONValue, of text: String, _ challenge: BearerChallenge?) throws {
    guard metadata["resource"]?.stringValue?.hasSameBytes(as: text) ?? false else {
      let named = metadata["resource"]?.stringValue ?? "none"
      throw CommandFailure(
        "the metadata at \(text) is about another resource, \(named.prefix(200)), so it is not "
          + "used (RFC 9728 section 3.3)",
        hints: ["If that is the resource that you mean, name it with --resource."])
    }
    let issuers = metadata["authorization_servers"]?.arrayValue?.compactMap(\.stringValue) ?? []
    guard !issuers.isEmpty else {
      throw CommandFailure("the metadata of \(text) names no authorization server")
    }
    let listed = metadata["scopes_supported"]?.arrayValue?.compactMap(\.stringValue)
    url = text
    self.issuers = issuers
    scope = Self.scope(challenge?.scope, listed ?? [])
  }

  private static func scope(_ challenged: String?, _ listed: [String]) -> String? {
    if let challenged, !challenged.isEmpty { return challenged }
    return listed.isEmpty ? nil : listed.joined(separator: " ")
  }

  private static func metadata(
    of resource: URL, _ challenge: BearerChallenge?, _ request: ResourceRequest
  ) async throws -> JSONValue {
    let places =
      if let named = challenge?.resourceMetadata {
        [try resource.checked(metadata: named)]
      } else {
        resource.wellKnown
      }
    var failure = ""
    for place in places {
      let reply = try await request.get(place)
      guard reply.failure.isEmpty else {
        throw CommandFailure("\(place.text) cannot be fetched: \(reply.failure)")
      }
      if reply.status == 200 {
        guard let document = try? JSONValue(parsing: reply.body), document.objectValue != nil else {
          throw CommandFailure("the metadata at \(place.text) is not a JSON object")
        }
        return document
      }
      failure = "\(place.text) answers HTTP \(reply.status)"
      // A server that cannot answer now may have metadata that forbids what another one allows.
      guard (400..<500).contains(reply.status), reply.status != 429 else { break }
    }
    throw CommandFailure(
      "\(resource.url.text) has no metadata of a protected resource (RFC 9728): \(failure)",
      hints: ["Sign in at its provider by name: usherctl login PROVIDER --audience …"])
  }
}

extension ProtectedResource {
  /// The URL of a resource.
  private struct URL {
    let url: ProviderURL

    init(resource text: String) throws {
      do throws(SettingError) {
        url = try ProviderURL(setting: text)
      } catch {
        throw CommandFailure("--resource \(error.message)", status: .usage)
      }
    }

    /// The scheme, host and port.
    private var origin: String {
      url.text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).prefix(3)
        .joined(separator: "/").prefix { $0 != "?" }.description
    }

    /// The addresses at which metadata is looked for: the path of the resource after the well-known
    /// path (RFC 9728 §3.1), then the well-known path alone, as MCP servers have it.
    var wellKnown: [ProviderURL] {
      let root = origin + "/.well-known/oauth-protected-resource"
      let rest = String(url.text.dropFirst(origin.count))
      let path = rest == "/" ? "" : rest
      return (path.isEmpty ? [root] : [root + path, root])
        .compactMap { try? ProviderURL(setting: $0) }
    }

    /// Returns the address of the metadata that the resource's challenge names. It must be at the
    /// resource's own server: otherwise the resource could make usherctl fetch any address.
    func checked(metadata text: String) throws -> ProviderURL {
      guard let place = try? ProviderURL(setting: text), place.host == url.host,
        place.port == url.port, place.isSecure == url.isSecure
      else {
        throw CommandFailure(
          "\(url.text) names metadata that is not at its own server: \(text.prefix(200))")
      }
      return place
    }
  }

  /// Returns the configured provider that issues tokens for the resource.
  ///
  /// - Parameter chosen: The provider that the person named; nil if any will do.
  /// - Throws: ``CommandFailure`` if no provider has one of the issuers. There is no sign-in at a
  ///   server that the operator has not configured.
  func provider(
    of providers: [ProviderGet.Reply], chosen: String?
  ) throws -> ProviderGet.Reply {
    for issuer in issuers {
      let matching = providers.filter {
        $0.issuer?.hasSameBytes(as: issuer) ?? false
          && (chosen == nil || $0.name.rawValue == chosen)
      }
      if matching.count > 1 {
        let names = matching.map { "\($0.name)" }.joined(separator: ", ")
        throw CommandFailure(
          "several providers have the issuer \(issuer): \(names)",
          hints: ["Choose one: usherctl login \(matching[0].name) --resource \(url)"])
      }
      if let provider = matching.first { return provider }
    }
    let known = issuers.prefix(5).map { $0.prefix(200) }.joined(separator: ", ")
    if let chosen {
      throw CommandFailure(
        "\(url) accepts no tokens of provider \(chosen), but those of \(known)")
    }
    throw CommandFailure(
      "\(url) accepts tokens of \(known), and no provider that you may use has this issuer",
      hints: hintsToConfigure)
  }

  /// The lines with which the operator configures the first authorization server; empty if its
  /// issuer is not a valid URL.
  private var hintsToConfigure: [String] {
    guard let issuer = issuers.lazy.compactMap({ try? ProviderURL(setting: $0) }).first else {
      return []
    }
    return [
      "If you trust this server, the operator can add it to usherd.toml:", "  [[provider]]",
      "  name = \"NAME\"", "  type = \"oidc\"", "  issuer = \"\(issuer.text)\"",
      "  audience_parameter = \"resource\"",
      "and then run: usherctl reload && usherctl provider register NAME",
      "If the server registers no clients but reads their metadata: set client_id to an https URL, "
        + "and publish there what this prints: usherctl provider client-metadata NAME",
    ]
  }
}
