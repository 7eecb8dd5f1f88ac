import Foundation
import Testing

@testable import UsherSandbox

@Suite("BSA fake over HTTP", .timeLimit(.minutes(10)))
struct BSAServerTests {
  private func json(_ answer: String) throws -> JSON {
    try JSON(parsing: Array(answer.httpBody.utf8))
  }

  private func wire(
    _ base: String, _ method: String, _ path: String, _ members: [String: JSON] = [:]
  ) async throws -> JSON {
    let members = members.merging([
      "lang": "en", "clientKey": .string(members["clientKey"]?.text ?? BSAApp.key),
    ]) { $1 }
    guard method == "POST" || method == "PUT" else {
      let query = members.map { "\($0.key)=\(PercentEncoding.encoded($0.value.text ?? ""))" }
      return try json(
        await Exchange.send(base, method, "/bsa\(path)?\(query.joined(separator: "&"))"))
    }
    let body = String(decoding: JSON.object(members).encoded(), as: UTF8.self)
    let answer = try await Exchange.send(
      base, method, "/bsa\(path)", headers: ["Content-Type: application/json"], body)
    #expect(answer.hasPrefix("HTTP/1.1 200"))
    return try json(answer)
  }

  /// Registers alice and returns the e-mailed code, the disposeToken and the TOTP secret.
  private func register(
    _ base: String, _ key: String = "alice-key"
  ) async throws -> (code: String, token: String, secret: String) {
    _ = try await wire(
      base, "POST", "/mail", ["email": .string(BSAApp.email), "emailType": "HTML"])
    let outbox = try json(await Exchange.get(base, "/_control/outbox?to=\(BSAApp.email)"))
    guard case .array(let messages)? = outbox["messages"],
      let code = messages.first?["code"]?.text
    else { throw GoPayApp.AppError(description: "no number") }
    let verified = try await wire(
      base, "POST", "/mail/verify",
      ["email": .string(BSAApp.email), "authNum": .string(code)])
    let token = try #require(verified["data"]?["disposeToken"]?.text)
    let done = try await wire(base, "POST", "/users", BSAApp.person(key, token))
    return (code, token, try #require(done["data"]?["secretKey"]?.text, "\(done)"))
  }

  @Test("the BSA site page of a waiting QR sign-in reloads itself every two seconds")
  func refresh() async throws {
    try await withSandbox { base in
      let begun = try await Exchange.send(
        base, "POST", "/bsa/site", headers: ["Content-Type: application/x-www-form-urlencoded"],
        "action=qr")
      let page = String(try #require(begun.firstMatch(of: /[Ll]ocation: (\S+)/)).1)
      let shown = try await Exchange.get(base, page)
      #expect(shown.contains(#"<meta http-equiv="refresh" content="2">"#))
      #expect(shown.contains(#"id="qrId">qr_"#))
    }
  }

  @Test("the BSA device path works for every user key, even one that is a path segment of the API")
  func paths() async throws {
    try await withSandbox { base in
      for key in ["alice-key", "common", "send-otp", "a.b@c"] {
        let path = "/users/\(PercentEncoding.encoded(key))/device"
        let answer = try await wire(base, "PUT", path)
        #expect(answer["rtCode"] == 2002, "\(key)")
        let known = try await Exchange.post(
          base, "/_control/bsa/registrations", #"{"userKey":"\#(key)"}"#)
        #expect(known.hasPrefix("HTTP/1.1 201"))
        let gone = try await Exchange.send(
          base, "DELETE", "/_control/bsa/registrations/\(PercentEncoding.encoded(key))")
        #expect(gone.hasPrefix("HTTP/1.1 200"))
      }
    }
  }

  @Test("each BSA endpoint gets faults by its name, and the request log lists it by the same name")
  func faults() async throws {
    try await withSandbox { base in
      var seen: Set<String> = []
      for row in try BSAApp().bsa.endpoints where seen.insert(row.name).inserted {
        let rule = #"{"endpoint":"\#(row.name)","times":1,"fault":{"status":418}}"#
        #expect(try await Exchange.post(base, "/_control/faults", rule).hasPrefix("HTTP/1.1 201"))
        let path = row.path.replacing("{userKey}", with: "x").replacing("{code}", with: "1")
          .replacing("{signIn}", with: "x")
        let struck = try await Exchange.send(base, row.method.rawValue, path, "x=1")
        #expect(struck.hasPrefix("HTTP/1.1 418"), "\(row.name)")
        let well = try await Exchange.send(base, row.method.rawValue, path, "x=1")
        #expect(!well.hasPrefix("HTTP/1.1 418"), "\(row.name)")
        let log = try await Exchange.get(base, "/_control/requests?endpoint=\(row.name)")
        #expect(log.httpBody.contains(#""count":2"#), "\(row.name)")
      }
      #expect(seen.count == 22)
    }
  }

  @Test("the request log and the BSA control lists contain no secret that was sent or handed out")
  func log() async throws {
    try await withSandbox { base in
      let person = try await register(base)
      let device: [String: JSON] = ["userKey": "alice-key", "deviceId": .string(BSAApp.device)]
      let number = try await wire(base, "POST", "/otp/generate", device)
      let code = try #require(number["data"]?.text)
      _ = try await wire(base, "DELETE", "/otp/\(code)")
      let begun = try json(await Exchange.post(base, "/_control/bsa/signIns", "{}"))
      let opened = try await wire(
        base, "POST", "/auth",
        device.merging([
          "authPlatform": "CMMAPF002", "clientKey": .string(BSAApp.acme),
        ]) { $1 })
      let channel = try #require(opened["data"]?["channelKey"]?.text)
      _ = try await wire(
        base, "POST", "/auth/complete",
        ["deviceId": .string(BSAApp.device), "isSecondaryCertification": true])
      let result = try await wire(
        base, "GET", "/auth",
        [
          "deviceId": .string(BSAApp.device), "channelKey": .string(channel),
          "clientKey": .string(BSAApp.acme),
        ])
      _ = try await Exchange.get(base, "/bsa/site/\(begun["id"]?.text ?? "")")
      _ = try await Exchange.send(
        base, "POST", "/bsa/mail/verify?clientKey=canary", headers: ["Content-Type: text/plain"],
        "clientKey=canary&authNum=canary")
      var seen = ""
      for path in ["requests", "bsa/registrations", "bsa/numbers", "bsa/disposeTokens"] {
        seen += try await Exchange.get(base, "/_control/\(path)").httpBody
      }
      let signIns = try await Exchange.get(base, "/_control/bsa/signIns").httpBody
      #expect(seen.contains(#""count":10"#))
      #expect(seen.contains(#""path":"/bsa/otp/{code}""#))
      #expect(seen.contains(#""path":"/bsa/site/{signIn}""#))
      #expect(seen.contains(#""error":"2002""#))
      for secret in [
        "canary", "s3cret", person.token, person.secret, #""\#(person.code)""#,
        "/\(code)", channel, try #require(opened["data"]?["blockKey"]?.text),
        try #require(result["data"]?.text), "push-token",
      ] {
        #expect(!(seen + signIns).contains(secret), "\(secret)")
      }
    }
  }

  @Test("BSA answers a wrong method with 405, is linked from the index page and reserves its path")
  func index() async throws {
    try await withSandbox { base in
      #expect(try await Exchange.send(base, "GET", "/bsa/mail").hasPrefix("HTTP/1.1 405"))
      let page = try await Exchange.get(base, "/")
      #expect(page.contains("base_url = &quot;\(base)/bsa&quot;"))
      #expect(page.contains(#"href="\#(base)/bsa/site""#))
      #expect(page.contains("/_control/bsa/signIns"))
    }
    var configuration = Sandbox.Configuration()
    configuration.issuerPath = "/bsa"
    #expect(throws: Sandbox.ConfigurationError.self) { try Sandbox(configuration) }
  }
}

/// Delivery to a mail server that is not part of this project.
@Suite(
  "BSA one-time code sent through a real mail server",
  .enabled(
    if: MailReceiver.isHere,
    "SKIPPED, NOT PROVEN: Packaging/install-dependencies test must have run"
  ))
struct BSARealMailTests {
  @Test("the BSA e-mail that reaches a real mail server contains the code that is accepted")
  func letter() async throws {
    let receiver = try MailReceiver()
    var configuration = Sandbox.Configuration()
    configuration.mailServer = try MailServer("smtp://127.0.0.1:\(receiver.port)")
    let code = try await withSandbox(configuration) { base in
      let sent = #""clientKey":"\#(BSAApp.key)","email":"alice@example.com""#
      _ = try await Exchange.post(base, "/bsa/mail", #"{\#(sent),"emailType":"HTML"}"#)
      let outbox = try await Exchange.get(base, "/_control/outbox?to=alice@example.com")
      let code = try #require(outbox.firstMatch(of: /"code":"([0-9]{6})"/)).1
      let verified = try await Exchange.post(
        base, "/bsa/mail/verify", #"{\#(sent),"authNum":"\#(code)"}"#)
      #expect(try JSON(parsing: verified.httpBody.utf8)["data"]?["result"] == true)
      return String(code)
    }
    let letter = try receiver.email()
    #expect(letter["to"] == ["alice@example.com"])
    #expect(letter["subject"] == "Your BSA number")
    #expect(letter["text"]?.text?.contains("Your BSA number is \(code).") == true)
  }
}
