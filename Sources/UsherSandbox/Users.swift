/// A person who can sign in at the sandbox's pages.
package struct User: Sendable, Hashable, Codable {
  package var username: String
  package var password: String
  /// Stable and never reused; `usr_` and the user name where none is given.
  package var sub: String
  package var name: String
  package var email: String

  package init(
    username: String, password: String, sub: String? = nil, name: String? = nil,
    email: String? = nil
  ) {
    self.username = username
    self.password = password
    self.sub = sub ?? "usr_\(username)"
    self.name = name ?? username
    self.email = email ?? "\(username)@example.com"
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      username: try container.decode(String.self, forKey: .username),
      password: try container.decode(String.self, forKey: .password),
      sub: try container.decodeIfPresent(String.self, forKey: .sub),
      name: try container.decodeIfPresent(String.self, forKey: .name),
      email: try container.decodeIfPresent(String.self, forKey: .email))
  }
}

/// Everybody the sandbox knows. The passwords are no secrets: they stand on the index page.
package struct Users: Sendable {
  package let all: [User]

  package init(_ all: [User] = Users.standard) {
    self.all = all
  }

  package static let standard = [
    User(username: "alice", password: "alice-password", name: "Alice Adams"),
    User(username: "bob", password: "bob-password", name: "Bob Brown"),
  ]

  package func named(_ username: String) -> User? {
    all.first { $0.username == username }
  }

  package func withSubject(_ sub: String) -> User? {
    all.first { $0.sub == sub }
  }

  /// Nil for a wrong name and for a wrong password alike.
  package func signingIn(_ username: String?, password: String?) -> User? {
    guard let username, let user = named(username), user.password == password else { return nil }
    return user
  }
}
