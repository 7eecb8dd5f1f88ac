import Foundation
import Testing

@testable import UsherSandbox

/// The Paysafe fake without HTTP: calls its endpoint handlers as the router does.
struct Bank {
  let context: BackendContext
  let paysafe: PaysafeBackend
  let clock: SandboxClock

  init() throws {
    clock = SandboxClock { start }
    context = try BackendContext.test(clock)
    paysafe = PaysafeBackend(context)
  }

  /// Advances the sandbox's clock.
  func wait(_ seconds: Double) { clock.offset += seconds }

  func send(
    _ method: Endpoint.Method, _ path: String, query: [String: String] = [:],
    form: [String: String]? = nil, json: JSON? = nil, headers: [String: String] = [:]
  ) async throws -> Reply {
    var call = EndpointCall(method, path, base: "http://127.0.0.1:1")
    call.query = encoded(query)
    call.headers = headers
    if let form {
      call.body = Array(encoded(form).utf8)
      call.headers["content-type"] = "application/x-www-form-urlencoded"
    } else if let json {
      call.body = json.encoded()
      call.headers["content-type"] = "application/json"
    }
    let (row, parameters) = try (paysafe.endpoints + paysafe.controls).row(method, path)
    call.parameters = parameters
    return await row.handle(call)
  }

  func control(
    _ method: Endpoint.Method, _ path: String, _ json: JSON? = nil, query: [String: String] = [:]
  ) async throws -> JSON {
    let reply = try await send(method, "/_control/paysafe/\(path)", query: query, json: json)
    try #require(reply.status < 300, "\(path): \(reply.text)")
    return try JSON(parsing: reply.body)
  }

  func set(_ settings: JSON) async throws { _ = try await control(.post, "settings", settings) }

  private func encoded(_ fields: [String: String]) -> String {
    fields.map { "\($0)=\(PercentEncoding.encoded($1))" }.joined(separator: "&")
  }
}

// MARK: - Signing in

extension Bank {
  func authorize(
    _ changes: [String: String?] = [:], brand: String = "acme"
  ) async throws -> Reply {
    var fields: [String: String?] = [
      "client_id": "acme-wallet", "redirect_uri": redirectURI, "response_type": "code",
      "state": "a&b", "code_challenge": challenge, "code_challenge_method": "S256",
    ]
    fields.merge(changes) { $1 }
    return try await send(
      .get, "/paysafe/auth/brands/\(brand)/authorize", query: fields.compactMapValues { $0 })
  }

  func login(
    on page: Reply, _ fields: [String: String], brand: String = "acme"
  ) async throws -> Reply {
    try await send(
      .post, "/paysafe/auth/brands/\(brand)/login",
      form: try page.hidden().merging(fields) { $1 })
  }

  /// Signs alice in with her PIN and returns the authorization code.
  func code(_ changes: [String: String?] = [:]) async throws -> String {
    let redirect = try await login(
      on: authorize(changes), ["username": "alice", "pin": "2468", "action": "login"])
    return try #require(try redirect.parameters()["code"])
  }

  static let basic =
    "Basic " + Data("acme-wallet:s3cret%3A%2B%2F%25".utf8).base64EncodedString()

  func token(
    _ fields: [String: String], authorization: String? = basic, brand: String = "acme"
  ) async throws -> Reply {
    try await send(
      .post, "/paysafe/auth/brands/\(brand)/token", form: fields,
      headers: authorization.map { ["authorization": $0] } ?? [:])
  }

  func redeem(_ code: String, _ changes: [String: String] = [:]) async throws -> Reply {
    try await token(
      [
        "grant_type": "authorization_code", "code": code, "redirect_uri": redirectURI,
        "code_verifier": verifier,
      ].merging(changes) { $1 })
  }

  func refresh(_ token: JSON?, brand: String = "acme") async throws -> Reply {
    try await self.token(
      ["grant_type": "refresh_token", "refresh_token": token?.text ?? ""], brand: brand)
  }
}

// MARK: - A customer with a token

extension Bank {
  func customer(_ username: String = "alice") async throws -> Customer {
    let tokens = try await control(.post, "tokens", ["username": .string(username)])
    return Customer(
      bank: self, username: username, token: try #require(tokens["access_token"]?.text))
  }

  func outbox(_ to: String) async throws -> [Message] {
    await context.outbox.messages(to: to).map(\.message)
  }
}

struct Customer {
  let bank: Bank
  let username: String
  let token: String

  func send(
    _ method: Endpoint.Method, _ path: String, _ json: JSON? = nil,
    headers: [String: String] = [:]
  ) async throws -> Reply {
    try await bank.send(
      method, "/paysafe\(path)", json: json,
      headers: ["authorization": "Bearer \(token)"].merging(headers) { $1 })
  }

  func pay(
    _ amount: JSON, to payee: String = "Books", headers: [String: String] = [:],
    scaDetails: JSON? = nil
  ) async throws -> Reply {
    var body: [String: JSON] = [
      "amount": amount, "currency": "EUR", "payee": .string(payee),
    ]
    body["scaDetails"] = scaDetails
    return try await send(
      .post, "/wallets/wlt_\(username)/payments", .object(body), headers: headers)
  }

  /// Creates an SCA event of this customer without a wallet operation.
  func event(_ members: [String: JSON] = [:]) async throws -> Event {
    let made = try await bank.control(
      .post, "events",
      .object(["username": .string(username)].merging(members) { $1 }))
    return try Event(self, made)
  }

  /// Returns the SCA event that the reply to a wallet operation announces.
  func event(announcedBy reply: Reply) throws -> Event {
    if let header = reply.headers["WWW-Authenticate"] {
      let prefix = #"SCA realm="Authentication", auth-param1=""#
      try #require(header.hasPrefix(prefix) && header.hasSuffix("\""))
      let bytes = try #require(Base64.decoded(String(header.dropFirst(prefix.count).dropLast())))
      return try Event(self, #require(JSON(parsing: bytes)["scaDetails"]))
    }
    return try Event(self, #require(JSON(parsing: reply.body)["scaDetails"]))
  }
}

/// An SCA event as the Paysafe API shows it to its customer.
struct Event {
  let customer: Customer
  let details: JSON
  let id: String
  let walletOperationID: String

  init(_ customer: Customer, _ details: JSON) throws {
    self.customer = customer
    self.details = details
    id = try #require(details["eventId"]?.text)
    walletOperationID = try #require(details["walletOperationId"]?.text)
  }

  private var path: String { "/auth/sca/events/\(id)" }

  func read() async throws -> Reply { try await customer.send(.get, path) }

  func challenge(_ name: String, action: JSON? = nil) async throws -> Reply {
    var verification = try members(name)
    verification["action"] = action
    return try await customer.send(
      .post, "\(path)/challenges",
      [
        "walletOperationId": .string(walletOperationID), "verification": .object(verification),
      ])
  }

  func attempt(_ name: String, _ value: String) async throws -> Reply {
    try await customer.send(
      .post, "\(path)/attempts",
      [
        "walletOperationId": .string(walletOperationID),
        "verification": .object(try members(name)), "value": .string(value),
      ])
  }

  /// Sends a PIN challenge and answers it correctly.
  func verifyByPIN() async throws {
    #expect(try await challenge("PIN").status == 201)
    let reply = try await attempt("PIN", customer.username == "alice" ? "2468" : "1357")
    #expect(try reply.json()["status"] == "VERIFIED")
  }

  /// The `scaDetails` for the retry of the operation.
  var proof: JSON {
    ["eventId": .string(id), "walletOperationId": .string(walletOperationID)]
  }

  /// ``proof`` as the header `SCA-Authorization`.
  var proofHeader: [String: String] {
    let text: JSON = ["scaDetails": proof]
    return ["sca-authorization": Data(text.encoded()).base64EncodedString()]
  }

  private func members(_ name: String) throws -> [String: JSON] {
    let verification = try #require(SCAVerification(name))
    var members: [String: JSON] = ["method": .string(verification.method.rawValue)]
    members["channel"] = verification.channel.map { .string($0.rawValue) }
    return members
  }
}

extension Reply {
  var text: String { String(decoding: body, as: UTF8.self) }

  func json() throws -> JSON { try JSON(parsing: body) }

  /// Returns the error code of a refused wallet call.
  func refusal() throws -> String? { try json()["error"]?["code"]?.text }

  func hidden() throws -> [String: String] {
    let page = text
    let fields = page.matches(of: /name="(transaction|csrf)" value="([^"]*)"/)
    try #require(fields.count == 2, "the page has no sign-in form: \(page)")
    return Dictionary(uniqueKeysWithValues: fields.map { (String($0.1), String($0.2)) })
  }

  /// Returns the query parameters of the redirect location.
  func parameters() throws -> [String: String] {
    let location = try #require(headers["Location"])
    let items = try #require(URLComponents(string: location)).queryItems ?? []
    return Dictionary(uniqueKeysWithValues: items.map { ($0.name, $0.value ?? "") })
  }
}
