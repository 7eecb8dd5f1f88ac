package import UsherConfig

// The cases that a real provider type adds to these enums. The examples use the cases of an
// existing type, so that no configuration can have a provider of type `example`.

extension ProviderType {
  package static var example: ProviderType { .truecaller }
}

extension ProviderVariety {
  package static var example: ProviderVariety { .truecaller }
}
