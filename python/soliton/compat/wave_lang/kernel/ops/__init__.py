"""Operations by their modules."""
