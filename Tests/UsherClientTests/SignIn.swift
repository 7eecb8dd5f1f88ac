import UsherClient

struct SignIn {
  static func main() async throws { try await signIn(with: UsherClient()) }

  static func signIn(with usher: UsherClient) async throws {
    let session = try await usher.flow(provider: "work", kind: "authorize")
    for try await flow in session.steps {
      if case .openURL(let page) = flow.step { print("open", page.url) }
    }
    print("valid until", try await usher.token(provider: "work").expiresAt ?? "revoked")
  }
}
