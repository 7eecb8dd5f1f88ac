import Foundation
import Testing

@testable import UsherSandbox

@Suite("GoPay capture in the sandbox")
struct GoPayCaptureTests {
  @Test("a GoPay capture takes the card, then the face, submits and redirects to the return URL")
  func photographs() async throws {
    let app = try GoPayApp()
    let opened = try await app.open(returnURL: "http://127.0.0.1:5555/done?a=b")
    #expect(try await app.submission(opened.id, opened.headers).data?["status"] == "CREATED")
    #expect(try await app.send(.get, opened.page).html.contains(#"id="card""#))
    #expect(try await app.press("face", on: opened.page).status == 403)
    #expect(try await app.press("card", on: opened.page).html.contains(#"id="face""#))
    let end = try await app.press("face", on: opened.page)
    #expect(end.status == 303)
    #expect(end.location.hasPrefix("http://127.0.0.1:5555/done?a=b&"))
    #expect(end.parameter("status") == "SUBMITTED")
    #expect(
      try await app.submission(opened.id, opened.headers).data
        == ["submissionId": .string(opened.id), "status": "SUBMITTED"])
    #expect(try await app.press("card", on: opened.page).status == 400)
    #expect(try await app.send(.get, opened.page).location == end.location)
  }

  @Test(
    "each capture error of the GoPay contract fails the submission with that error",
    arguments: [
      "CAMERA", "PERMISSION", "NETWORK", "USER_CANCELLED", "VERIFICATION", "HELP_CLICKED",
      "SECURITY", "API",
    ])
  func errors(_ error: String) async throws {
    let app = try GoPayApp()
    let opened = try await app.open()
    #expect(try await app.send(.get, opened.page).html.contains(#"id="\#(error)""#))
    #expect(try await app.press(error, on: opened.page).html.contains("close this window"))
    let data = try await app.submission(opened.id, opened.headers).data
    #expect(data?["status"] == "FAILED")
    #expect(data?["error"] == .string(error))
    #expect(data?["message"]?.text?.isEmpty == false)
    #expect(try await app.press("submit", on: opened.page).status == 400)
    #expect(try await app.pull().refusal.first == 1519)
  }

  @Test("reopening a GoPay capture in the same session returns the same submission and a new page")
  func sessions() async throws {
    let app = try GoPayApp()
    let first = try await app.open()
    let again = try await app.open()
    #expect(again.id == first.id)
    #expect(again.page != first.page)
    #expect(try await app.open(requestID: "req-2").id != first.id)
    let bob = try await app.open("bob-long-term")
    #expect(bob.id != first.id)
    #expect(try await app.submission(first.id, bob.headers).refusal.first == 1519)
    #expect(try await app.submission("sub_nope", bob.headers).refusal.first == 1519)
  }

  @Test("an expired GoPay capture token opens no capture and reads no submission")
  func tokens() async throws {
    let app = try GoPayApp()
    let opened = try await app.open()
    _ = try await app.control(.post, "endCaptureTokens")
    #expect(try await app.capture(opened.headers).refusal.first == 1401)
    #expect(try await app.submission(opened.id, opened.headers).refusal.first == 1401)
    let next = try await app.open()
    #expect(next.id == opened.id)
    app.wait(900)
    #expect(try await app.capture(next.headers).refusal.first == 1401)
  }

  @Test("a GoPay capture page is refused after its lifetime and under a changed address")
  func pages() async throws {
    let app = try GoPayApp()
    let opened = try await app.open()
    #expect(try await app.send(.get, opened.page + "x").status == 400)
    app.wait(1800)
    #expect(try await app.send(.get, opened.page).status == 400)
    #expect(try await app.press("submit", on: opened.page).status == 400)
  }

  @Test(
    "a GoPay capture request without a required header is refused with 1539 and the header's name",
    arguments: ["x-merchant-id", "x-onekyc-token", "x-sdk-session-id", "x-partner-session-id"])
  func headers(_ name: String) async throws {
    let app = try GoPayApp()
    let opened = try await app.open()
    var headers = opened.headers
    headers[name] = nil
    for answer in [
      try await app.capture(headers), try await app.submission(opened.id, headers),
    ] {
      #expect(answer.refusal == [1539, .string("\(name) is missing")])
    }
    headers = opened.headers
    headers["x-sdk-session-id"] = "x"
    #expect(try await app.capture(headers).refusal.first == 1539)
  }

  @Test(
    "a GoPay capture return URL must be https, or http on a loopback address",
    arguments: [
      ("https://partner.example/done", 200), ("http://127.0.0.1:1/done", 200),
      ("http://[::1]:1/done", 200), ("http://partner.example/done", 400), ("acme:/done", 400),
      ("https://u@partner.example/", 400),
    ])
  func returnURLs(_ url: String, _ status: Int) async throws {
    let app = try GoPayApp()
    let opened = try await app.open()
    let query = "submissionType=FULL_KYC&returnUrl=\(PercentEncoding.encoded(url))"
    #expect(try await app.capture(opened.headers, query: query).status == status)
    for query in ["", "submissionType=OTHER", "submissionType=FULL_KYC&lang=fr"] {
      #expect(try await app.capture(opened.headers, query: query).refusal.first == 1539)
    }
  }
}
